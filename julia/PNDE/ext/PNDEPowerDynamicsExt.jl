"""
PowerDynamics.jl networks as they are: their algebraic equations are the law, their states bring their names.
"""
module PNDEPowerDynamicsExt

using LinearAlgebra: I, diag, isdiag
using NetworkDynamics: Network, NWState, pflat, uflat, variable_symbols
using PNDE: PNDE, DifferentialAlgebraic
using PowerDynamics: initialize_from_pf!

"""
    DifferentialAlgebraic(network; initialise = true)

The system of a PowerDynamics.jl network, at rest where its power flow says. Without `initialise` the network's own default
state is taken, as after an earlier `initialize_from_pf!`.

# Throws

  - `ArgumentError` if the mass matrix is not one of zeros and ones.
"""
function PNDE.DifferentialAlgebraic(network::Network; initialise = true)
    state = initialise ? initialize_from_pf!(network; verbose = false) : NWState(network)
    mass = Matrix(network.mass_matrix * I(length(uflat(state))))
    isdiag(mass) && all(x -> iszero(x) || isone(x), mass) ||
        throw(ArgumentError("the network's mass matrix is not a diagonal of zeros and ones"))
    return DifferentialAlgebraic(
        network, isone.(diag(mass)), pflat(state), string.(variable_symbols(network)), Vector{Float64}(uflat(state)),
    )
end

end
