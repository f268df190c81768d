"""
    Instant(t, w, rate, curvature, p)

When, and under which conditions, laws, physics and velocities of states `(n, B)` are evaluated. Where there are neither inputs
nor parameters, the time alone is an instant.

# Arguments

  - `t`: the time, a number or `(B,)`.
  - `w`: inputs `(k, B)`, with their derivatives `rate` ẇ and `curvature` ẅ; `nothing` without inputs.
  - `p`: parameters `(r, B)`; `nothing` without.
"""
struct Instant{T, W, R, C, P}
    t::T
    w::W
    rate::R
    curvature::C
    p::P
end

"""
    given(at, name)

What there is at an instant of `name`: `:t`, `:w`, `:rate`, `:curvature` or `:p`.

# Throws

  - `ArgumentError` where there are no inputs or parameters.
"""
given(t, name::Symbol) = name === :t ? t : not_given(name)
function given(at::Instant, name::Symbol)
    value = getfield(at, name)
    return value === nothing ? not_given(name) : value
end
not_given(name) = throw(ArgumentError("a law or physics takes $(name === :p ? "parameters" : "inputs"), and there are none"))

"Parts of an instant by their names."
given_all(at, names::Tuple) = map(name -> given(at, name), names)

"The instant of the state at position b."
at_state(t::Number, b) = t
at_state(t::AbstractVector, b) = t[b]
at_state(at::Instant, b) = Instant(at_state(at.t, b), map(x -> column(x, b), (at.w, at.rate, at.curvature, at.p))...)
column(::Nothing, b) = nothing
column(x::AbstractMatrix, b) = view(x, :, b)

"The instant of one state a time s later, to first order."
later(t::Number, s) = t + s
later(at::Instant, s) = Instant(at.t + s, moved(at.w, at.rate, s), moved(at.rate, at.curvature, s), at.curvature, at.p)
moved(::Nothing, rate, s) = nothing
moved(x, rate, s) = x .+ s .* rate

"A part of an instant as `(size, B)`, or `(size, 1)` if all states share it."
as_columns(t::Number) = fill(t, 1, 1)
as_columns(t::AbstractVector) = reshape(t, 1, :)
as_columns(x::AbstractMatrix) = x
