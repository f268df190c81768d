# The algebraic rows of a system for an engine that cannot call Julia: f is evaluated once at numbers that remember how they
# came to be. What is affine in earlier results is kept as factors, so that of a grid's lines there remains their matrix.

"An entry of the state, or the result of an operation, with a parameter: the position, or an exponent."
struct Atom
    operation::Symbol
    operands::Vector{Real}
    parameter::Float64
    Atom(operation, operands, parameter = 0.0) = new(operation, collect(Real, operands), parameter)
end

"constant + Σ factor · atom"
struct Traced <: Real
    constant::Float64
    factors::IdDict{Atom, Float64}
end

"Numbers that a traced one can be put together with."
const Plain = Union{Bool, Base.BitInteger, Base.IEEEFloat, Rational{Int}, AbstractIrrational}

traced(x::Traced) = x
traced(x::Plain) = Traced(Float64(x), IdDict{Atom, Float64}())
traced(atom::Atom) = Traced(0.0, IdDict(atom => 1.0))
Base.convert(::Type{Traced}, x::Traced) = x
Base.convert(::Type{Traced}, x::Plain) = traced(x)
Base.promote_rule(::Type{Traced}, ::Type{<:Plain}) = Traced
Base.zero(::Type{Traced}) = traced(0.0)
Base.one(::Type{Traced}) = traced(1.0)
Base.float(x::Traced) = x

known(xs::Traced...) = all(x -> isempty(x.factors), xs)
affine(x, factor) = Traced(factor * x.constant, IdDict(atom => factor * f for (atom, f) in x.factors))
operation(name, operands...; parameter = 0.0) = traced(Atom(name, operands, parameter))

Base.:+(x::Traced) = x
Base.:-(x::Traced) = affine(x, -1.0)
Base.:+(x::Traced, y::Traced) = Traced(x.constant + y.constant, mergewith(+, x.factors, y.factors))
Base.:-(x::Traced, y::Traced) = x + (-y)
Base.:/(x::Traced, y::Traced) = known(y) ? affine(x, 1 / y.constant) : operation(:divide, x, y)
Base.inv(x::Traced) = one(x) / x
function Base.:*(x::Traced, y::Traced)
    known(x) && return affine(y, x.constant)
    return known(y) ? affine(x, y.constant) : operation(:multiply, x, y)
end

Base.:^(x::Traced, p::Integer) = p < 0 ? inv(Base.power_by_squaring(x, -p)) : Base.power_by_squaring(x, p)
function Base.:^(x::Traced, p::AbstractFloat)
    isinteger(p) && return x^Int(p)
    return known(x) ? traced(x.constant^p) : operation(:power, x; parameter = p)
end
Base.:^(x::Traced, p::Rational) = x^Float64(p)
Base.:^(x::Traced, y::Traced) = known(y) ? x^y.constant : exp(y * log(x))

const FUNCTIONS = (:sin, :cos, :tan, :asin, :acos, :atan, :sinh, :cosh, :tanh, :exp, :log, :sqrt, :abs, :sign)
for name in FUNCTIONS
    @eval Base.$name(x::Traced) = known(x) ? traced($name(x.constant)) : operation($(QuoteNode(name)), x)
end
Base.abs2(x::Traced) = x * x
Base.hypot(x::Traced, y::Traced) = sqrt(x * x + y * y)
for (name, kept) in ((:atan, :atan2), (:min, :minimum), (:max, :maximum))
    @eval Base.$name(x::Traced, y::Traced) =
        known(x, y) ? traced($name(x.constant, y.constant)) : operation($(QuoteNode(kept)), x, y)
end

# ModelingToolkit writes its equations with these, which give NaN where the others throw.
for name in (:sin, :cos, :tan, :asin, :acos, :log, :sqrt)
    @eval NaNMath.$name(x::Traced) = $name(x)
end
NaNMath.pow(x::Traced, y::Traced) = x^y
NaNMath.min(x::Traced, y::Traced) = min(x, y)
NaNMath.max(x::Traced, y::Traced) = max(x, y)

"The outcomes of the comparisons in one evaluation, those that are given and then `true`, and what was compared."
struct Path
    given::Vector{Bool}
    taken::Vector{Bool}
    conditions::Vector{Traced}
end

for (name, kept) in ((:<, :less), (:<=, :less_equal), (:(==), :equal))
    @eval Base.$name(x::Traced, y::Traced) =
        known(x, y) ? $name(x.constant, y.constant) : decide(operation($(QuoteNode(kept)), x, y))
end

function decide(condition)
    path = task_local_storage(:PNDE_path)::Path
    push!(path.conditions, condition)
    push!(path.taken, get(path.given, length(path.taken) + 1, true))
    return last(path.taken)
end

"f along one path through its branches."
function along(f, inputs, given)
    path = Path(given, Bool[], Traced[])
    return task_local_storage(() -> Vector{Traced}(f(traced.(inputs))), :PNDE_path, path), path
end

# Most branches of a grid are limiters of controllers, on which no algebraic row depends: to see that, each comparison is
# turned the other way once. Only the others double the work.
const MOST_SELECTIONS = 8

"f on all branches: where the outcome of a comparison changes a row, a selection."
function all_branches(f, inputs, given = Bool[], selections = 0)
    rows, path = along(f, inputs, given)
    for k in (length(given) + 1):length(path.taken)
        before = path.taken[1:(k - 1)]
        all(same.(rows, first(along(f, inputs, [before; false])), length(inputs))) && continue
        selections < MOST_SELECTIONS || throw(ArgumentError("the equations have too many branches to be written as a program"))
        yes, no = (all_branches(f, inputs, [before; outcome], selections + 1) for outcome in (true, false))
        return map((x, y) -> same(x, y, length(inputs)) ? x : operation(:select, path.conditions[k], x, y), yes, no)
    end
    return rows
end

"Whether x and y are the same function of the state, as two random states tell."
function same(x::Traced, y::Traced, n)
    return all((1, 2)) do seed
        u = 0.5 .+ rand(Xoshiro(seed), n)
        isapprox(evaluated(x, u), evaluated(y, u); rtol = 1.0e-9, atol = 1.0e-9, nans = true)
    end
end

const OPERATIONS = Dict{Symbol, Any}(
    :divide => /, :multiply => *, :minimum => min, :maximum => max, :atan2 => atan, :less => <, :less_equal => <=, :equal => ==,
    :select => (condition, x, y) -> condition != 0 ? x : y,
    (name => isdefined(NaNMath, name) ? getfield(NaNMath, name) : getfield(Base, name) for name in FUNCTIONS)...,
)

function evaluated(x::Traced, u, results = IdDict{Atom, Float64}())
    value(atom) = get!(results, atom) do
        atom.operation === :state && return u[Int(atom.parameter)]
        operands = map(operand -> evaluated(operand, u, results), atom.operands)
        return atom.operation === :power ? NaNMath.pow(only(operands), atom.parameter) : OPERATIONS[atom.operation](operands...)
    end
    return sum(factor * value(atom) for (atom, factor) in x.factors; init = x.constant)
end

"""
    program(f, n)

What f(u) of a state u `(n,)` computes, without f.

# Returns

A vector of steps, each a named tuple: the `operation`, a `parameter` for each of its results, and its `operands`. Each
operand is affine in all that is known before the step, u and then the results of the steps in their order: a `matrix` in
the form `(rows, columns, values)`, counted from 1, and a `constant`. The last step is called `:result`, with one operand.

# Throws

  - `ArgumentError` if f calls a function that only takes plain numbers, or if its rows have too many branches.
"""
function program(f, n)
    inputs = [Atom(:state, (), i) for i in 1:n]
    rows = try
        all_branches(f, inputs)
    catch error
        error isa MethodError || rethrow()
        throw(ArgumentError("the equations cannot be written as a program: $(first_line(error))"))
    end
    positions = IdDict{Atom, Int}(atom => i for (i, atom) in enumerate(inputs))
    levels = IdDict{Atom, Int}(atom => 0 for atom in inputs)
    foreach(row -> level!(levels, row), rows)
    found = [(level, atom.operation, atom) for (atom, level) in levels if level > 0]
    steps = []
    for key in sort!(unique((level, name) for (level, name, _) in found))
        atoms = [atom for (level, name, atom) in found if (level, name) == key]
        operands = [affine_map([atom.operands[k] for atom in atoms], positions) for k in eachindex(atoms[1].operands)]
        push!(steps, (operation = String(key[2]), parameter = [atom.parameter for atom in atoms], operands))
        foreach(atom -> positions[atom] = length(positions) + 1, atoms)
    end
    return push!(steps, (operation = "result", parameter = zeros(length(rows)), operands = [affine_map(rows, positions)]))
end

first_line(error) = first(split(sprint(showerror, error), '\n'))

"How many operations lie one upon the other below x; noted for each of its atoms."
function level!(levels, x::Traced)
    return maximum(keys(x.factors); init = 0) do atom
        get!(() -> 1 + maximum(operand -> level!(levels, operand), atom.operands), levels, atom)
    end
end

function affine_map(xs, positions)
    entries = Tuple{Int, Int, Float64}[(i, positions[atom], factor) for (i, x) in enumerate(xs) for (atom, factor) in x.factors]
    sort!(entries)
    rows, columns, values = Int[i for (i, _, _) in entries], Int[j for (_, j, _) in entries], Float64[v for (_, _, v) in entries]
    return (; rows, columns, values, constant = Float64[x.constant for x in xs])
end
