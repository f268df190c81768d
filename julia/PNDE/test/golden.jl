# Writes the numbers that tests/test_golden.py compares the embedded engine with:
#
#     julia --project=<an environment with PNDE> julia/PNDE/test/golden.jl tests/golden
#
# Weights and vectors come from `wave`, which the tests compute too; states and results are written out.
using LinearAlgebra, PNDE

wave(dims...) = reshape(sin.(1.3 .* (0:(prod(dims) - 1)) .+ 0.7), dims)

"Cartesian states of pendulums with angles from `wave`."
function hanging(N, B)
    θ, ω = wave(N, B), 2 .* wave(N, B)
    sum_links(x) = cumsum(x; dims = 1)
    return vcat(sum_links(sin.(θ)), sum_links(.-cos.(θ)), sum_links(cos.(θ) .* ω), sum_links(sin.(θ) .* ω))
end

"The 14-bus grid with the demand of all loads as inputs, active and then reactive, MW and Mvar."
function ieee14_of_loads()
    (; loads, slack) = ieee14()
    L = size(loads, 1)
    return ieee14(; demand = [Matrix(1.0I, 2L, 2L) ./ 100; zeros(2 * size(slack, 1), 2L)])
end

"Which states have no derivative: those of the loads and of the slack."
free_at_jumps(law) = repeat(vec(sum(law.loads; dims = 1) .+ sum(law.slack; dims = 1)), 2)

const SYSTEMS = (
    (name = "quartic", law = Quartic(), order = 2, u = wave(4, 2), dt = 0.1),
    (name = "quartic-skew-gradient", law = Quartic(), order = 1, u = wave(4, 2), dt = 0.1, form = SkewGradient(4)),
    (name = "lotka-volterra", law = LotkaVolterra(), order = 1, u = 1.5 .+ 0.7 .* wave(2, 2), dt = 0.1),
    (name = "pendulum-4", law = Rods(), order = 2, u = hanging(4, 2), dt = 0.01),
    (name = "pendulum-8", law = Rods(), order = 2, u = hanging(8, 2), dt = 0.01),
    (name = "ieee14", law = ieee14(), order = 1, u = vcat(1 .+ 0.05 .* wave(14, 2), 0.1 .* wave(14, 2)), dt = 0.1),
    (name = "driven-pendulum", law = Rods(; moving_pivot = true), order = 2, u = hanging(2, 2), dt = 0.01, inputs = 2, size = 0.1),
    (name = "lotka-volterra-family", law = LotkaVolterraFamily(), order = 1, u = 1.5 .+ 0.7 .* wave(2, 2), dt = 0.1, parameters = 2),
    (
        name = "ieee14-loads", law = ieee14_of_loads(), order = 1, u = vcat(1 .+ 0.05 .* wave(14, 2), 0.1 .* wave(14, 2)), dt = 0.1,
        inputs = 18, size = 10.0, jump = Jump(trues(20), free_at_jumps(ieee14())),
    ),
)

"Three shares of a whole, which are positive, and not too much of the first two."
const MIXTURE = (
    name = "mixture-within-bounds", law = Linear(ones(1, 3)), order = 1, u = [0.02 0.6; 0.5 0.05; 0.48 0.35], dt = 0.1,
    bounds = Bounds(
        Stacked(States([1, 2], 3), Constraint(u -> 0.4 - u[1]^2 - u[2]^2)), [1, 2, 0], zeros(3), fill(Inf, 3), [2.0, 3.0, 4.0], ones(3),
    ),
)

"""
What drives two trajectories: cubic inputs with a knot at 7.3 dt, where value and slope go on, and where the system jumps
another at 2.5 dt, where they do not.
"""
function drive_of(system)
    system = merge((inputs = 0, parameters = 0, size = 1.0, jump = nothing), system)
    (; dt, inputs, parameters, jump) = system
    inputs + parameters == 0 && return zeros(2)
    p = parameters == 0 ? nothing : 0.75 .+ 0.25 .* wave(parameters, 2)
    jumps = fill(2.5dt, jump === nothing ? 0 : 1, 2)
    inputs == 0 && return Drive(zeros(2), nothing, nothing, jumps, zeros(0, 2), p)
    knots = jump === nothing ? [-dt, 7.3dt] : [-dt, 2.5dt, 7.3dt]
    a, x = system.size .* wave(inputs, 4, length(knots), 2), knots[end] - knots[end - 1]
    before = a[:, :, end - 1, :]
    a[:, 1, end, :] = sum(before[:, d, :] .* x^(d - 1) for d in 1:4)
    a[:, 2, end, :] = sum((d - 1) .* before[:, d, :] .* x^(d - 2) for d in 2:4)
    return Drive(zeros(2), repeat(knots, 1, 2), a, jumps, zeros(0, 2), p, jump)
end

"The instants at which laws and velocities are evaluated."
at_of(system) = PNDE.instant(drive_of(system), 1.3 * system.dt)
const METHODS = (nde = NDE(), snde = SNDE(1.5), pnde = Projected())
const PROJECTIONS = (cholesky = CholeskyProjection(), qr = QRProjection(), truncated = TruncatedProjection())

function model(system, method)
    n, conditions = size(system.u, 1), get(system, :inputs, 0) + get(system, :parameters, 0)
    mean, std = 0.1 .* sin.(0:(n - 1)), 1 .+ 0.1 .* cos.(0:(n - 1))
    driven = conditions > 0 ? (0.1 .* cos.(0:(conditions - 1)), get(system, :size, 1.0) .* (1 .+ 0.1 .* sin.(0:(conditions - 1)))) : (nothing, nothing)
    if get(system, :form, nothing) === :mechanical
        form, layout = mechanical(n ÷ 2, std, 0.5 .+ 0.1 .* sin.(0:(n ÷ 2 - 1)))
        return Model(; sizes = (n ÷ 2, 8, 8, 1), skip = true, form, layout, method, constraint = system.law, order = 2, mean, std)
    end
    form = get(system, :form, VelocityForm())
    outputs, speed = form isa SkewGradient ? (n * (n - 1) ÷ 2, 0.5 .+ 0.1 .* sin.(0:(n - 1))) : (n ÷ system.order, nothing)
    return Model(;
        sizes = (n + conditions, 8, 8, outputs), skip = true, form, speed, method, constraint = system.law, bounds = get(system, :bounds, nothing), order = system.order,
        mean, std, condition_mean = driven[1], condition_std = driven[2],
    )
end

function golden(system)
    (; law, u, dt) = system
    n, B = size(u)
    at = at_of(system)
    h = value(law, u, at)
    G = PNDE.dense(constraint_jacobian(law, u, at))
    θ = 0.4 .* wave(length(model(system, NDE()).layout))
    return (;
        versions = PNDE.versions(), u, h, G,
        projection = map(algorithm -> projection(algorithm, system), PROJECTIONS),
        velocity = map(method -> velocity(model(system, method), θ, u, h .- 0.1, at), METHODS),
        dt, training = map(method -> training(model(system, method), θ, system), METHODS),
        steps = steps(model(system, Projected()), θ, system),
        rollout = map(method -> forecast(model(system, method), θ, system, h), METHODS),
    )
end

"Two rods, of which networks give the potential, the masses and the dissipation."
const MECHANICAL = (name = "pendulum-2-mechanical", law = Rods(), order = 2, u = hanging(2, 2), dt = 0.01, form = :mechanical)

"The form and the layout of k positions with networks of 2 × 8 units."
function mechanical(k, std, speed)
    spread = exp(sum(log, std[1:k]) / k)
    sizes(outputs) = (k, 8, 8, outputs)
    names, outputs = (:potential, :masses, :dissipation), (1, k^2, k^2)
    networks = NamedTuple{names}(map(sizes, outputs))
    linear = NamedTuple{map(name -> Symbol(name, :_linear), names)}(map(count -> (count, k), outputs))
    layout = PartsLayout(networks, merge(linear, (; dissipation_factor = (k, k), dissipation_skew = (k, k))))
    omega = sqrt(sum(speed ./ spread) / k)
    return Mechanical(; spread = fill(spread, k), kappa = spread^2, omega, settled = false, rows = (k ÷ 2 + 1):k), layout
end

"Velocities, and two segments and a forecast in steps that both engines take."
function golden_of_steps(system)
    (; law, u, dt) = system
    pnde, h = model(system, Projected()), value(law, u, at_of(system))
    θ = 0.4 .* wave(length(pnde.layout))
    return (;
        versions = PNDE.versions(), u, h, dt, velocity = velocity(pnde, θ, u, h, at_of(system)), steps = steps(pnde, θ, system),
        rollout = forecast(pnde, θ, system, h),
    )
end

"p, λ and the cotangents of v, G, b and a diagonal W that belong to p̅."
function projection(algorithm, system)
    (; law, u) = system
    n, B = size(u)
    G = PNDE.dense(constraint_jacobian(law, u, at_of(system)))
    v, p̅, b, W = wave(n, B), cos.(wave(n, B)), 0.3 .* wave(size(G, 1), B), 1.5 .+ 0.5 .* wave(n, B)
    p, pullback = PNDE.ChainRulesCore.rrule(project, algorithm, G, v, b, W)
    _, _, G̅, v̅, b̅, W̅ = map(PNDE.unthunk, pullback(p̅))
    return (; euclidean = project(algorithm, G, v), p, v_bar = v̅, G_bar = G̅[:, :, 1:1], b_bar = b̅, W_bar = W̅)
end

"Two segments, whose later points are off the first by `wave`."
function segments(system)
    (; law, u, dt) = system
    points = reshape(u, :, 1, 2) .+ 0.1 .* reshape([0, 1, 2, 3, 4], 1, 5) .* wave(size(u, 1), 5, 2)
    return Segments(points, value(law, u, at_of(system)), drive_of(system), dt .* (0:4), fill(0.5, 2))
end

"Their loss and its gradient, to rounding level."
function training(model, θ, system)
    settings = Settings(; solver = Vern9(), rtol = 1.0e-13, atol = 1.0e-13, retract = :never)
    loss, gradient = loss_and_gradient(model, θ, segments(system), settings)
    return (; loss, gradient)
end

"The same in two steps of Tsit5 from point to point, each put back on the manifold: the gradient is that of these steps."
function steps(model, θ, system)
    loss, gradient = loss_and_gradient(model, θ, segments(system), Settings(; step = system.dt / 2, retract = :step))
    return (; loss, gradient)
end

"Fixed steps of Tsit5, retracted each, to 20 dt; half as long where inputs jump, at the end of one."
function forecast(model, θ, system, c)
    times = repeat(system.dt .* (0:5:20), 1, 2)
    settings = Settings(; step = haskey(system, :jump) ? system.dt / 2 : system.dt)
    out = rollout(model, θ, system.u, times, c, settings, drive_of(system))
    @assert all(iszero, out.status)
    return out.u
end

json(x::Union{Number, AbstractString}) = repr(x)
json(x::AbstractArray{<:Any, 0}) = json(x[])
# The last dimension first, as a row-major array has it.
json(x::AbstractVector) = "[" * join(json.(x), ",") * "]"
json(x::AbstractArray) = "[" * join((json(selectdim(x, ndims(x), k)) for k in axes(x, ndims(x))), ",") * "]"
json(x::Union{NamedTuple, AbstractDict}) =
    "{" * join(sort!([json(string(k)) * ":" * json(v) for (k, v) in pairs(x)]), ",\n") * "}"

folder = only(ARGS)
for system in SYSTEMS
    write(joinpath(folder, "$(system.name).json"), json(golden(system)) * "\n")
end
for system in (MIXTURE, MECHANICAL)
    write(joinpath(folder, "$(system.name).json"), json(golden_of_steps(system)) * "\n")
end
