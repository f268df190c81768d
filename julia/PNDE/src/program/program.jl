"""
    Program(inputs, constants, steps, result, clock)

A function of states as data: what Python traced, evaluated for a whole batch at once. No step loops or branches.

# Arguments

  - `inputs`: how many; each is a flat array `(size, B)`, or `(size, 1)` if all states share it.
  - `constants`: flat arrays.
  - `steps`: pairs of an operation and the numbers of its operands: the inputs, then the constants, then the results of the
    steps before, counted from 1.
  - `result`: the number of the value that the program gives.
  - `clock`: the input that is the time, or 0. What depends on it alone is computed in the time's own precision, and in that
    of the states, the first input, from where it meets them.
"""
struct Program
    inputs::Int
    constants::Vector{Vector{Float64}}
    steps::Vector{Tuple{Any, Vector{Int}}}
    result::Int
    "Which values depend on the time alone."
    of_time::Vector{Bool}
    "The constants as arrays of the kinds that were asked for."
    cast::Dict{Any, Vector{Any}}
    guard::ReentrantLock
end

function Program(inputs, constants, steps, result, clock)
    first_step = inputs + length(constants)
    fixed(k) = inputs < k <= first_step
    of_time = [k == clock for k in 1:first_step]
    for (_, operands) in steps
        own = filter(!fixed, operands)
        push!(of_time, !isempty(own) && all(k -> of_time[k], own))
    end
    pairs = Tuple{Any, Vector{Int}}[(operation, Vector{Int}(operands)) for (operation, operands) in steps]
    return Program(inputs, constants, pairs, result, of_time, Dict{Any, Vector{Any}}(), ReentrantLock())
end

function (program::Program)(u, others...)
    (; inputs, constants, of_time) = program
    values = Vector{Any}(undef, length(of_time))
    values[1:inputs] .= (u, others...)
    of_states = constants_like(program, u)
    of_clock = any(of_time) ? constants_like(program, values[findfirst(of_time)]) : of_states
    first_step = inputs + length(constants)
    for (k, (operation, operands)) in enumerate(program.steps)
        own = of_time[first_step + k]
        arguments = map(operands) do number
            inputs < number <= first_step && return (own ? of_clock : of_states)[number - inputs]
            of_time[number] && !own ? beside(u, values[number]) : values[number]
        end
        values[first_step + k] = operation(arguments...)
    end
    number = program.result
    result = inputs < number <= first_step ? of_states[number - inputs] : values[number]
    return of_batch(of_time[number] ? beside(u, result) : like(u, result), size(u, 2))
end

"x in the precision of u, and where u is."
beside(u, x) = like(u, x)
beside(u, x::Array) = placed_like(u, like(u, x))

"The constants, each `(size, 1)`, as arrays of the kind of x, made once for each kind."
function constants_like(program, x)
    T = plain(eltype(x))
    return lock(program.guard) do
        get!(program.cast, (Base.typename(typeof(x)).wrapper, T)) do
            Any[copyto!(similar(x, T, length(numbers), 1), numbers) for numbers in program.constants]
        end
    end
end

"The numbers that dual ones are made of."
plain(T::Type) = T
plain(::Type{<:ForwardDiff.Dual{<:Any, V}}) where {V} = plain(V)
