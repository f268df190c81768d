"""
PowerDynamics.jl networks as they are: their algebraic equations are the law, their states bring their names.
"""
module PNDEPowerDynamicsExt

using LinearAlgebra: I, diag, isdiag
using NetworkDynamics: EIndex, EPIndex, Network, NWState, VIndex, VPIndex, get_callbacks, get_jac_prototype, parameter_symbols, pflat,
    uflat, variable_symbols
using PNDE: PNDE, AlgebraicRows, DifferentialAlgebraic
using PowerDynamics: initialize_from_pf!

"""
    DifferentialAlgebraic(network; initialise = true)

The system of a PowerDynamics.jl network, at rest where its power flow says. Without `initialise` the network's own default
state is taken, as after an earlier `initialize_from_pf!`. Callbacks of its components are left out, with a warning; what they would
change can be an input, see `with_inputs`.

# Throws

  - `ArgumentError` if the mass matrix is not one of zeros and ones, or if it has no zeros.
"""
function PNDE.DifferentialAlgebraic(network::Network; initialise = true)
    state = initialise ? initialize_from_pf!(network; verbose = false) : NWState(network)
    mass = Matrix(network.mass_matrix * I(length(uflat(state))))
    isdiag(mass) && all(x -> iszero(x) || isone(x), mass) ||
        throw(ArgumentError("the network's mass matrix is not a diagonal of zeros and ones"))
    any(iszero, diag(mass)) || throw(ArgumentError("the network has no algebraic equations, so there is no law"))
    get_callbacks(network) === nothing ||
        @warn "the network's callbacks, such as faults and limits of integrators, are left out of its law and its data; a \
        parameter that changes can be an input"
    return DifferentialAlgebraic(
        Guarded(network, ReentrantLock()), isone.(diag(mass)), pflat(state), names_of(network, variable_symbols(network)), uflat(state);
        pattern = get_jac_prototype(network; verbose = false), parameters = names_of(network, parameter_symbols(network)),
    )
end

"A network writes to buffers of its own, so threads have to call it one after another."
struct Guarded{N <: Network}
    network::N
    guard::ReentrantLock
end
(f::Guarded)(du, u, p, t) = lock(() -> f.network(du, u, p, t), f.guard)

"`component₊state` or `component₊parameter`, as in a bus's own listing; with the component's number where names are used twice."
function names_of(network, indices)
    names = [string(component(network, index).name, '₊', index.subidx) for index in indices]
    return allunique(names) ? names : string.(indices)
end
# Of a parameter some versions have indices of their own.
component(network, index::Union{VIndex, typeof(VPIndex(1, :p))}) = network[VIndex(index.compidx)]
component(network, index::Union{EIndex, typeof(EPIndex(1, :p))}) = network[EIndex(index.compidx)]

PNDE.is_network(::Network) = true

"A network given as the law of a model is the law of its algebraic equations."
PNDE.as_constraint(network::Network, takes = (), source = "") =
    AlgebraicRows(DifferentialAlgebraic(network))

end
