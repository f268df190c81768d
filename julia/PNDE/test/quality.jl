# What can be said of the package without running it.
using Aqua, ExplicitImports, JET, PNDE, Test

# The check left out resolves a new environment, which needs a network; PNDE starts no task.
Aqua.test_all(PNDE; persistent_tasks = false)

@testset "every exported name of the package's own is documented" begin
    documented = Set(binding.var for binding in keys(Docs.meta(PNDE)))
    own = filter(name -> which(PNDE, name) === PNDE, names(PNDE))
    @test isempty(setdiff(own, documented))
end

@testset "names come from where they are made, and none is imported in vain" begin
    # The algebra of Julia's own libraries, and ChainRulesCore's vocabulary of rules, are meant to be there as a whole.
    vocabulary = (Base, Core, PNDE.LinearAlgebra, PNDE.SparseArrays, PNDE.Random, PNDE.ChainRulesCore)
    @test check_no_implicit_imports(PNDE; skip = vocabulary) === nothing
    @test check_no_stale_explicit_imports(PNDE) === nothing
end

@testset "no call without a method" begin
    # Only of PNDE: what its dependencies do with one another is theirs.
    report = JET.report_package(PNDE; target_modules = (PNDE,), toplevel_logger = nothing)
    @test isempty(JET.get_reports(report))
end
