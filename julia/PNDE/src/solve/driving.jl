# What drives trajectories, by clocks that begin at their first point. Of trajectories that nothing drives that is the time at
# which their clocks are zero, a number or `(B,)`, in double precision.

"""
    Drive(start, knots, coefficients, jumps, kinks, p, [jump])

Start times, inputs and parameters of B trajectories.

# Arguments

  - `start`: the times at which the clocks are zero `(B,)`; everything made of a drive is on the device where this is.
  - `knots`: of the inputs, `(K, B)`, increasing, infinite behind the last; `coefficients` `(k, 4, K, B)`: from a knot on to the
    next one w = Σ_d a_d (s - knot)ᵈ, d from 0 to 3, at s of the clock. Both on the host; `nothing` without inputs.
  - `jumps`: the times by the clock at which w is not continuous `(J, B)`, infinite behind the last; `kinks`: those at which it
    is, but not its derivative `(Q, B)`.
  - `p`: parameters `(r, B)`; `nothing` without.
  - `jump`: what a law does where an input jumps, a [`Jump`](@ref); `nothing` for one that does not take them.
"""
struct Drive{S, T, K <: Union{Nothing, Matrix{T}}, C <: Union{Nothing, Array{T, 4}}, P}
    start::S
    knots::K
    coefficients::C
    jumps::Matrix{T}
    kinks::Matrix{T}
    p::P
    jump::Union{Nothing, Jump}
end
Drive(start, knots, coefficients, jumps, kinks, p) = Drive(start, knots, coefficients, jumps, kinks, p, nothing)

"""
    instant(drive, s)

The instant of trajectories at times s of their clocks, a number or `(B,)` on the host.
"""
instant(start::Number, s) = start .+ s
instant(start, s) = start .+ beside_start(start, s)
function instant(drive::Drive, s)
    t = instant(drive.start, s)
    drive.knots === nothing && return Instant(t, nothing, nothing, nothing, drive.p)
    w, rate, curvature = polynomials(drive.knots, drive.coefficients, s)
    return Instant(t, map(x -> beside_start(drive.start, x), (w, rate, curvature))..., drive.p)
end
@non_differentiable instant(::Any, ::Any)

beside_start(start, s::Number) = s
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
    (; start, knots, coefficients, jumps, kinks, p, jump) = drive
    chosen(x) = x === nothing ? nothing : copy(selectdim(x, ndims(x), columns))
    return Drive(start[columns], chosen(knots), chosen(coefficients), chosen(jumps), chosen(kinks), chosen(p), jump)
end

"The instants of one trajectory at several times of its clock."
instants(start::Number, s) = start .+ s
instants(drive, s) = instant(of_trajectories(drive, ones(Int, length(s))), s)

"The same drive where it ends at a jump: at s its inputs are what they were before it."
function up_to(drive::Drive, s)
    (; start, knots, coefficients, jumps, kinks, p, jump) = drive
    return Drive(start, ifelse.(knots .< s, knots, oftype(s, Inf)), coefficients, jumps, kinks, p, jump)
end
@non_differentiable up_to(::Any, ::Any)

"The times behind `first` and at most at `last` at which the inputs of one trajectory jump."
jumps_between(start, first, last) = ()
jumps_between(drive::Drive, first, last) = filter(s -> first < s <= last, drive.jumps[:, 1])

"The times between `first` and `last` at which the derivatives of the inputs of one trajectory jump."
kinks_between(start, first, last) = ()
kinks_between(drive::Drive, first, last) = filter(s -> first < s < last, drive.kinks[:, 1])

"Whether there is a place for jumps."
may_jump(start) = false
may_jump(drive::Drive) = size(drive.jumps, 1) > 0

"Which trajectories have jumps up to a time."
with_jumps(start, last) = falses(length(start))
with_jumps(drive::Drive, last) = vec(any(0 .< drive.jumps .<= last; dims = 1))
