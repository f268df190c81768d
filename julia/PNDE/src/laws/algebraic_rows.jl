"""
    DifferentialAlgebraic(f!, moving, p, names, operation_point; pattern, parameters)

A differential-algebraic system of index 1 as it is: `moving .* u̇ = f`, with `f!(du, u, p, t)` and a mass matrix of zeros
and ones. Its algebraic rows are the law, [`AlgebraicRows`](@ref). `DifferentialAlgebraic(network)` makes one from a
PowerDynamics.jl network.

# Arguments

  - `f!`, `p`: the right-hand side and its parameters; `moving`: the diagonal of the mass matrix `(n,)`.
  - `names`: of the states; `operation_point`: a state at rest `(n,)`.
  - `pattern`: where ∂f/∂u can be other than zero, a `SparseMatrixCSC{Bool}` `(n, n)`; everywhere by default.
  - `parameters`: names of the entries of `p`, for [`with_inputs`](@ref).
"""
struct DifferentialAlgebraic{F, P}
    f!::F
    moving::Vector{Bool}
    p::P
    names::Vector{String}
    operation_point::Vector{Float64}
    pattern::SparseMatrixCSC{Bool, Int}
    parameters::Vector{String}
    "The positions in `p` of what is an input."
    inputs::Vector{Int}
end

function DifferentialAlgebraic(f!, moving, p, names, operation_point; pattern = nothing, parameters = String[])
    n = length(moving)
    known = pattern === nothing ? sparse(trues(n, n)) : SparseMatrixCSC{Bool, Int}(pattern)
    isempty(parameters) || length(parameters) == length(p) ||
        throw(ArgumentError("there are $(length(parameters)) names for $(length(p)) parameters"))
    return DifferentialAlgebraic(
        f!, Vector{Bool}(moving), p, Vector{String}(names), Vector{Float64}(operation_point), known, Vector{String}(parameters), Int[],
    )
end

"""
    with_inputs(system, names)

The system with some of its parameters, by their names, as inputs: at an [`Instant`](@ref) its `w` `(k,)` stands in their
places.

# Throws

  - `ArgumentError` if there is no such parameter.
"""
function with_inputs(system::DifferentialAlgebraic, names)
    inputs = map(collect(String, names)) do name
        position = findfirst(==(name), system.parameters)
        position === nothing ? throw(ArgumentError("the system has no parameter $name")) : position
    end
    (; f!, moving, p, operation_point, pattern, parameters) = system
    return DifferentialAlgebraic(f!, moving, p, system.names, operation_point, pattern, parameters, Vector{Int}(inputs))
end

"The parameters as they are at the instant of one state."
function parameters_at(system, at)
    isempty(system.inputs) && return system.p
    w = given(at, :w)
    p = convert(Vector{promote_type(eltype(system.p), eltype(w))}, copy(system.p))
    p[system.inputs] .= w
    return p
end

"""
f at the instant of one state `(n,)`. State, parameters and time are numbers of one kind, since a network's buffers are of
the kind of its state.
"""
function velocities(system, u, at)
    p, t = parameters_at(system, at), given(at, :t)
    T = promote_type(eltype(u), typeof(t), isempty(system.inputs) ? Union{} : eltype(p))
    state = convert(Vector{T}, u)
    du = similar(state)
    system.f!(du, state, p, t)
    return du
end

"""
    AlgebraicRows(system)

The law of a [`DifferentialAlgebraic`](@ref) system: its algebraic rows vanish. Its Jacobian is a [`SparseJacobian`](@ref).

States that share no row have one colour, and one derivative for each colour gives all entries of the Jacobian. With the
second derivatives it is the same, for a row knows at most one state of each colour.
"""
struct AlgebraicRows{S <: DifferentialAlgebraic} <: AbstractConstraint
    system::S
    pattern::Pattern
    colours::Vector{Int}
end

function AlgebraicRows(system::DifferentialAlgebraic)
    pattern = system.pattern[.!system.moving, :]
    problem = ColoringProblem(; structure = :nonsymmetric, partition = :column)
    return AlgebraicRows(system, Pattern(pattern), column_colors(coloring(pattern, problem, GreedyColoringAlgorithm())))
end

# A network keeps buffers of double precision, so that is what the rows are evaluated in.
value(law::AlgebraicRows, u, t) = eltype(u).(each_state((u, t) -> algebraic_rows(law.system, u, t), u, t))

function constraint_jacobian(law::AlgebraicRows, u, t)
    values = each_state((u, t) -> entries(u -> algebraic_rows(law.system, u, t), law, u), u, t)
    return SparseJacobian(law.pattern, eltype(u).(values))
end

function drift(law::AlgebraicRows, u, t)
    isempty(law.system.inputs) && return nothing
    return eltype(u).(each_state((u, t) -> moving_rows(law.system, u, t), u, t))
end

each_state(f, u, t) = stack(f(Float64.(view(u, :, b)), at_state(t, b)) for b in axes(u, 2))

"The derivatives of f(u) along the states of each colour `(length of f, colours)`."
by_colour(f, law, u) = ForwardDiff.jacobian(s -> f(u .+ s[law.colours]), zeros(eltype(u), maximum(law.colours)))

"The entries of ∂f/∂u, of rows f that know no more states than those of the law."
function entries(f, law, u)
    change = by_colour(f, law, u)
    return [change[i, law.colours[j]] for (i, j) in zip(law.pattern.rows, law.pattern.columns)]
end

algebraic_rows(system, u, t) = velocities(system, u, t)[.!system.moving]

"∂f/∂t + (∂f/∂w) ẇ of the algebraic rows."
moving_rows(system, u, at) = ForwardDiff.derivative(s -> algebraic_rows(system, u, later(at, s)), 0.0)

function ChainRulesCore.rrule(::typeof(value), law::AlgebraicRows, u, t)
    value_pullback(h̅) = (NoTangent(), NoTangent(), transpose_apply(constraint_jacobian(law, u, t), unthunk(h̅)), NoTangent())
    return value(law, u, t), value_pullback
end

function ChainRulesCore.rrule(::typeof(constraint_jacobian), law::AlgebraicRows, u, t)
    function constraint_jacobian_pullback(cotangent_of_G)
        G̅ = unthunk(cotangent_of_G)
        G̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent(), NoTangent()
        values, b = unthunk(G̅.values), Ref(0)
        u̅ = each_state((u, t) -> curvature(law, u, t, view(values, :, b[] += 1)), u, t)
        return NoTangent(), NoTangent(), eltype(u).(u̅), NoTangent()
    end
    return constraint_jacobian(law, u, t), constraint_jacobian_pullback
end

function ChainRulesCore.rrule(::typeof(drift), law::AlgebraicRows, u, t)
    function drift_pullback(cotangent_of_b)
        b̅ = unthunk(cotangent_of_b)
        b̅ isa AbstractZero && return NoTangent(), NoTangent(), ZeroTangent(), NoTangent()
        values = each_state((u, t) -> entries(u -> moving_rows(law.system, u, t), law, u), u, t)
        return NoTangent(), NoTangent(), transpose_apply(SparseJacobian(law.pattern, eltype(u).(values)), b̅), NoTangent()
    end
    return drift(law, u, t), drift_pullback
end

"The derivative of Σ weights · entries of G by one state."
function curvature(law, u, t, weights)
    first_order(u) = by_colour(u -> algebraic_rows(law.system, u, t), law, u)
    m, count = law.pattern.size[1], maximum(law.colours)
    second = reshape(by_colour(u -> vec(first_order(u)), law, u), m, count, count)
    rows, cols = law.pattern.rows, law.pattern.columns
    spread = zeros(m, count)
    for (i, j, weight) in zip(rows, cols, weights)
        spread[i, law.colours[j]] = weight
    end
    out = zeros(law.pattern.size[2])
    for (i, j) in zip(rows, cols)
        out[j] += @views dot(spread[i, :], second[i, :, law.colours[j]])
    end
    return out
end
