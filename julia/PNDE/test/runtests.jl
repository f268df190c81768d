# Groups: GROUP=Core, Arrays, Training or QA; all of them by default.
using Test

const GROUP = get(ENV, "GROUP", "All")
const FILES = Dict(
    "Core" => ["projection.jl", "constraints.jl", "fields.jl", "solve.jl", "differential_algebraic.jl"],
    "Arrays" => ["arrays.jl", "magma.jl"],
    "Training" => ["training.jl"],
    "QA" => ["quality.jl"],
)

@testset "PNDE" begin
    for group in ("Core", "Arrays", "Training", "QA"), file in FILES[group]
        GROUP in ("All", group) || continue
        @testset "$group: $file" begin
            include(file)
        end
    end
end
