# What a session does first, compiled with the package: a step of training and a forecast, of the default network, with the laws
# of the paper's systems.
@setup_workload begin
    # As a session has them: a law of a domain with that as a program, all(u .> 0), and outputs in units of the data's speeds.
    positive = named_program(;
        inputs = 1, constants = [0.0], constant_ends = [0, 1], operations = ["greater", "all"], operands = [1, 2, 3], operand_ends = [0, 2, 3],
        integers = [2], integer_ends = [0, 0, 1], result = 4, clock = 0,
    )
    laws = [
        (InDomain(LotkaVolterra(), positive), [1.0, 1.2], 1), (Quartic(), [1.0, 0.0, 0.0, 1.0], 2), (Rods(), [1.0, 0.0, 0.0, 1.0], 2),
        (ieee14(), [ones(14); zeros(14)], 1),
    ]
    named(T, law, n, order) = named_model(;
        sizes = [n, 4, 4, n ÷ order], activation = "gelu", skip = false, method = "pnde", gamma = 1.0, constraint = law,
        projection = "cholesky", mean = zeros(T, n), std = ones(T, n), speed = ones(T, n ÷ order), order, features = "state",
        metric = nothing, physics = nothing,
    )
    settings(retract) = named_settings(; solver = "tsit5", rtol = 1e-4, atol = 1e-4, max_steps = 100, step = nothing, retract)
    weights(T, model) = fill(T(0.1), length(model.layout))
    @compile_workload begin
        for (law, state, order) in laws
            n, times = length(state), collect(0.1 .* (0:2))
            u = repeat(state, 1, 2)
            c = value(law, u, 0.0)
            model = named(Float32, law, n, order)
            batch = Segments(
                Float32.(repeat(reshape(u, n, 1, 2), 1, 3, 1)), Float32.(c), zeros(2), Float32.(times), fill(0.5f0, 2),
            )
            trainer = Trainer(model, weights(Float32, model), settings("never"))
            step!(trainer, batch, 1e-3)
            evaluate(trainer, batch)
            conditions(model, batch)
            model = named(Float64, law, n, order)
            rollout(model, weights(Float64, model), u, repeat(times, 1, 2), c, settings("step"))
        end
    end
end
