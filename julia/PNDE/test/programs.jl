# The programs that Python traced (tests/write_programs.py), evaluated for a batch: what JAX computes.
using PNDE, TOML
using PNDE: ForwardDiff, named_program

const ENTRIES = TOML.parsefile(joinpath(@__DIR__, "programs.toml"))["entry"]

as_program(entry) = named_program(; (Symbol(key) => value for (key, value) in entry["program"])...)
columns(rows) = reduce(hcat, [Float64.(row) for row in rows])

@testset "$(entry["name"])" for entry in ENTRIES
    u, expected, w = columns(entry["states"]), columns(entry["expected"]), fill(entry["w"], 1, 1)
    program = as_program(entry)
    @test program(u, w) ≈ expected rtol = 1.0e-13 atol = 1.0e-13
    @test program(u[:, 1:1], w) ≈ expected[:, 1:1] rtol = 1.0e-13 atol = 1.0e-13
    single = program(Float32.(u), Float32.(w))
    @test eltype(single) == Float32 && size(single) == size(expected)
    # The tangents of dual numbers, as an implicit solver wants them, are the next entry's derivative.
    tangent = ForwardDiff.derivative(s -> program(u .+ s .* [1, 0, 0, 0, 0, 0], w), 0.0)
    step = 1.0e-6 .* [1, 0, 0, 0, 0, 0]
    @test tangent ≈ (program(u .+ step, w) .- program(u .- step, w)) ./ 2.0e-6 rtol = 1.0e-5 atol = 1.0e-6
end
