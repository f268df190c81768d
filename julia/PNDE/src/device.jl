# Where arrays are: on the host, or on a card.

"""
What makes a card's array of one of the host, or `nothing` where there is no card. The extension for CUDA sets it as it is
loaded; any other array type may stand here, such as one of the tests.
"""
const CARD = Ref{Any}(nothing)

const CUDA_PACKAGE = Base.PkgId(Base.UUID("052768ef-5323-5732-b1bb-66c8b64840ba"), "CUDA")

"Whether there is a card. Loads CUDA.jl where the environment has it."
function find_card()
    if CARD[] === nothing && Base.locate_package(CUDA_PACKAGE) !== nothing
        Base.require(CUDA_PACKAGE)
    end
    return CARD[] !== nothing
end

on_card(array) = CARD[](array)

"An array on the host."
on_host(number::Number) = number
on_host(array::Array) = array
on_host(array::AbstractArray) = Array(array)
on_host(::Nothing) = nothing
on_host(at::Instant) = Instant(map(on_host, (at.t, at.w, at.rate, at.curvature, at.p))...)

name_of_card() = CARD[] === nothing ? "none" : string(CARD[])
