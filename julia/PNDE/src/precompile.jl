# What a session does first, compiled with the package: a step of training and a forecast, of the default network.
@setup_workload begin
    u, times = [1.0 1.5; 1.2 0.8], collect(0.1 .* (0:2))
    # As a session has them: the law with its domain as a program, all(u .> 0), and outputs in units of the data's speeds.
    positive = named_program(;
        inputs = 1, constants = [0.0], constant_ends = [0, 1], operations = ["greater", "all"], operands = [1, 2, 3], operand_ends = [0, 2, 3],
        integers = [2], integer_ends = [0, 0, 1], result = 4, clock = 0,
    )
    law = InDomain(LotkaVolterra(), positive)
    named(T) = named_model(;
        sizes = [2, 4, 4, 2], activation = "gelu", skip = false, method = "pnde", gamma = 1.0, constraint = law,
        projection = "cholesky", mean = zeros(T, 2), std = ones(T, 2), speed = ones(T, 2), order = 1, features = "state", metric = nothing,
        physics = nothing,
    )
    settings(retract) = named_settings(; solver = "tsit5", rtol = 1e-4, atol = 1e-4, max_steps = 100, step = nothing, retract)
    c = value(LotkaVolterra(), u, 0.0)
    weights(T, model) = fill(T(0.1), length(model.layout))
    @compile_workload begin
        model = named(Float32)
        batch = Segments(
            Float32.(repeat(reshape(u, 2, 1, 2), 1, 3, 1)), Float32.(c), zeros(2), Float32.(times), fill(0.5f0, 2),
        )
        trainer = Trainer(model, weights(Float32, model), settings("never"))
        step!(trainer, batch, 1e-3)
        evaluate(trainer, batch)
        model = named(Float64)
        rollout(model, weights(Float64, model), u, repeat(times, 1, 2), c, settings("step"))
    end
end
