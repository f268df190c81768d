# What the names in a configuration stand for, so that a caller from outside needs no Julia types.

const PROJECTIONS = Dict("cholesky" => CholeskyProjection(), "qr" => QRProjection(), "truncated" => TruncatedProjection())
const ACTIVATIONS = Dict("gelu" => gelu, "tanh" => tanh, "relu" => relu, "softplus" => softplus)
const FEATURES = Dict("state" => StateFeatures(), "angles" => AngleFeatures())
const PRECISIONS = Dict("float32" => Float32, "float64" => Float64)

# The configuration knows a family of methods by its member in the embedded engine: of order 5, of high order, and stiff.
const SOLVERS = Dict("tsit5" => Tsit5(), "dopri5" => Tsit5(), "dopri8" => Vern9(), "kvaerno5" => Rodas5P())

const ADJOINTS = Dict(
    "discretise" => StoredSteps(),
    "backsolve" => BacksolveAdjoint(; autojacvec = ZygoteVJP(), checkpointing = false),
)

named_method(name, gamma) = name == "nde" ? NDE() : name == "snde" ? SNDE(Float64(gamma)) : Projected()

named_settings(; solver, adjoint = "discretise", retract, options...) =
    Settings(; solver = SOLVERS[solver], adjoint = ADJOINTS[adjoint], retract = Symbol(retract), options...)

named_form(form::AbstractForm, n) = form
named_form(name, n) = name == "skew-gradient" ? SkewGradient(n) : VelocityForm()

function named_model(; activation, method, gamma, projection, features, mean, form = "mlp", options...)
    return Model(;
        activation = ACTIVATIONS[activation], method = named_method(method, gamma), projection = PROJECTIONS[projection],
        features = FEATURES[features], form = named_form(form, length(mean)), mean, options...,
    )
end

"A [`PartsLayout`](@ref), from names and sizes in the order of the weights; dimensions of arrays as Python has them."
function named_layout(networks, sizes, arrays, shapes)
    named(names, values) = NamedTuple{Tuple(Symbol(replace(String(name), '.' => '_')) for name in names)}(Tuple(values))
    return PartsLayout(named(networks, [Tuple(Int.(size)) for size in sizes]), named(arrays, [Tuple(reverse(Int.(shape))) for shape in shapes]))
end

"A program from flat arrays: of each step the operation, and where its operands and integers end."
function named_program(; inputs, constants, constant_ends, operations, operands, operand_ends, integers, integer_ends, result, clock)
    between(x, ends, k) = collect(x[(ends[k] + 1):ends[k + 1]])
    steps = map(eachindex(operations)) do k
        operation_named(String(operations[k]), between(integers, integer_ends, k)), between(operands, operand_ends, k)
    end
    numbers = [Vector{Float64}(between(constants, constant_ends, k)) for k in 1:(length(constant_ends) - 1)]
    return Program(Int(inputs), numbers, steps, Int(result), Int(clock))
end

"Names of parts of an instant from outside, as Julia's."
named_parts(names) = Tuple(Symbol(String(name)) for name in names)

is_system(x) = x isa DifferentialAlgebraic
"Whether x is a network of PowerDynamics.jl, which the extension knows."
is_network(x) = false
name_of_type(x) = string(typeof(x))

linear_law(matrix) = Linear(Matrix{Float64}(matrix))

"h of states at an instant, NaN where the law is not defined."
law_values(law, u, at) = ifelse.(reshape(indomain(law, u), 1, :), value(law, u, at), eltype(u)(NaN))

"The states u `(n, B)` put on the manifold and inside of the bounds, and which of them `(B,)` are there."
function retract_states(law, metric, u, at, c, bounds = nothing)
    algorithm = CholeskyProjection()
    states = bounds === nothing ? retract(algorithm, law, metric, u, at, c) : enclose(algorithm, law, bounds, metric, u, at, c)
    return states, collect(Bool, vec(is_on_manifold(law, states, at, c) .& is_inside(bounds, states, at)))
end

"The inequalities `laws`, one below the other; `columns` count from 1, and are 0 for rows that are no states."
function named_bounds(laws; columns, lower, upper, rates, scale)
    rows = length(laws) == 1 ? only(laws) : Stacked(laws...)
    return Bounds(rows, Vector{Int}(columns), map(Vector{Float64}, (lower, upper, rates, scale))...)
end

"The rows that are states themselves, of n."
states_law(columns, n) = States(Vector{Int}(columns), Int(n))

"The algebraic rows as a [`program`](@ref) of the states, and then of the inputs."
function algebraic_program(system)
    n, k = length(system.moving), length(system.inputs)
    at(w) = k == 0 ? 0.0 : Instant(0.0, w, nothing, nothing, nothing)
    return program(x -> algebraic_rows(system, x[1:n], at(x[(n + 1):end])), n + k)
end

"The parameters of a system that can be inputs, as numbers."
parameter_values(system) = isempty(system.parameters) ? Float64[] : Float64.(system.p)

"An array of the host that belongs to nobody else."
owned(array) = Array(array)

"Versions of Julia and of the packages that matter for results."
function versions()
    packages = (PNDE, Lux, Zygote, SciMLBase, SciMLSensitivity, OrdinaryDiffEqTsit5, OrdinaryDiffEqVerner)
    pairs = ["julia" => string(VERSION), "threads" => string(Threads.nthreads()), "card" => name_of_card()]
    return Dict(vcat(pairs, [string(nameof(package)) => string(pkgversion(package)) for package in packages]))
end
