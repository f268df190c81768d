using PNDE

"The law of a grid of N buses in a ring with chords, every fourth one a source."
function ring(N; options...)
    start, stop = [1:N; 1:5:N], [mod1.((1:N) .+ 1, N); mod1.((1:5:N) .+ N ÷ 3, N)]
    g, b = 1 .+ 0.5 .* sin.(eachindex(start)), -10 .+ 3 .* cos.(eachindex(start))
    return PowerBalance(;
        size = N, rows = [start; stop; start; stop], columns = [start; stop; stop; start], conductance = [g; g; -g; -g],
        susceptance = [b; b; -b; -b], loads = filter(k -> k % 4 != 1, 1:N), slack = [1], options...,
    )
end
