# Groups: GROUP=Core, Arrays, Training, QA or PowerDynamics; all of them by default, the last where the package is installed.
using Test

const GROUP = get(ENV, "GROUP", "All")
const FILES = Dict(
    "Core" => ["projection.jl", "constraints.jl", "bounds.jl", "programs.jl", "fields.jl", "mechanics.jl", "solve.jl", "driving.jl", "differential_algebraic.jl"],
    "Arrays" => ["arrays.jl", "magma.jl"],
    "Training" => ["training.jl"],
    "QA" => ["quality.jl"],
    "PowerDynamics" => ["powerdynamics.jl"],
)

@testset "PNDE" begin
    for group in ("Core", "Arrays", "Training", "QA", "PowerDynamics"), file in FILES[group]
        GROUP in ("All", group) || continue
        if group == "PowerDynamics" && Base.find_package("PowerDynamics") === nothing
            @info "PowerDynamics: skipped, the package is not installed"
            continue
        end
        @testset "$group: $file" begin
            # In a module of its own, so that no file leans on the names of another.
            @eval module $(Symbol(first(splitext(file)), "_tests"))
            using Test
            include($file)
            end
        end
    end
end
