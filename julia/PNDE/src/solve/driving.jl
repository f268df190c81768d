# What drives trajectories, by clocks that begin at their first point. Of trajectories that nothing drives that is the time at
# which their clocks are zero, a number or `(B,)`, in double precision.

"""
    Drive(start, knots, coefficients, jumps, kinks, p)

Start times, inputs and parameters of B trajectories.

# Arguments

  - `start`: the times at which the clocks are zero `(B,)`; everything made of a drive is on the device where this is.
  - `knots`: of the inputs, `(K, B)`, increasing, infinite behind the last; `coefficients` `(k, 4, K, B)`: from a knot on to the
    next one w = Σ_d a_d (s - knot)ᵈ, d from 0 to 3, at s of the clock. Both on the host; `nothing` without inputs.
  - `jumps`: the times by the clock at which w is not continuous `(J, B)`, infinite behind the last; `kinks`: those at which it
    is, but not its derivative `(Q, B)`.
  - `p`: parameters `(r, B)`; `nothing` without.
"""
struct Drive{S, T, K <: Union{Nothing, Matrix{T}}, C <: Union{Nothing, Array{T, 4}}, P}
    start::S
    knots::K
    coefficients::C
    jumps::Matrix{T}
    kinks::Matrix{T}
    p::P
end

"""
    instant(drive, s)

The instant of trajectories at times s of their clocks, a number or `(B,)` on the host.
"""
instant(start, s) = start .+ beside_start(start, s)
function instant(drive::Drive, s)
    t = instant(drive.start, s)
    drive.knots === nothing && return Instant(t, nothing, nothing, nothing, drive.p)
    w, rate, curvature = polynomials(drive.knots, drive.coefficients, s)
    return Instant(t, map(x -> beside_start(drive.start, x), (w, rate, curvature))..., drive.p)
end
@non_differentiable instant(::Any, ::Any)

beside_start(start, s::Number) = s
beside_start(::Number, s) = s
beside_start(start, x) = placed_like(start, x)

"w, ẇ and ẅ `(k, B)` of piecewise cubics."
function polynomials(knots, coefficients, s)
    T, k, B = promote_type(eltype(knots), eltype(s)), size(coefficients, 1), size(knots, 2)
    w, rate, curvature = Matrix{T}(undef, k, B), Matrix{T}(undef, k, B), Matrix{T}(undef, k, B)
    for b in 1:B
        clock = at_state(s, b)
        piece = max(searchsortedlast(view(knots, :, b), clock), 1)
        x = clock - knots[piece, b]
        for i in 1:k
            a0, a1, a2, a3 = ntuple(d -> coefficients[i, d, piece, b], 4)
            w[i, b] = ((a3 * x + a2) * x + a1) * x + a0
            rate[i, b] = (3a3 * x + 2a2) * x + a1
            curvature[i, b] = 6a3 * x + 2a2
        end
    end
    return w, rate, curvature
end

"Those of trajectories at positions, or of the one at a position."
of_trajectories(start, columns) = start[columns]
of_trajectories(drive::Drive, column::Integer) = of_trajectories(drive, column:column)
function of_trajectories(drive::Drive, columns)
    (; start, knots, coefficients, jumps, kinks, p) = drive
    chosen(x) = x === nothing ? nothing : selectdim(x, ndims(x), columns) |> copy
    return Drive(start[columns], chosen(knots), chosen(coefficients), chosen(jumps), chosen(kinks), chosen(p))
end

"The instants of one trajectory at several times of its clock."
instants(start::Number, s) = start .+ s
instants(drive, s) = instant(of_trajectories(drive, ones(Int, length(s))), s)

"The same drive up to a jump at s: what counts behind it is not looked at."
up_to(drive::Drive, s) =
    Drive(drive.start, drive.knots === nothing ? nothing : ifelse.(drive.knots .< s, drive.knots, oftype(s, Inf)), drive.coefficients,
        drive.jumps, drive.kinks, drive.p)

"The times `(J, )` between two, or at the second, at which the inputs of one trajectory jump, or their derivatives do."
jumps_between(start, first, last) = ()
jumps_between(drive::Drive, first, last) = filter(s -> first < s <= last, drive.jumps[:, 1])
kinks_between(start, first, last) = ()
kinks_between(drive::Drive, first, last) = filter(s -> first < s < last, drive.kinks[:, 1])
