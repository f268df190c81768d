# Laws that a user writes in Julia.

"The modules of what was loaded. Garbage collection does not go from a function to its type, which nothing but its module keeps."
const SANDBOXES = Module[]

"""
    load_code(source; parameters...)

What a piece of Julia, or a `.jl` file, gives. This runs the caller's own code, in a module of its own that has the names of
`PNDE` and `LinearAlgebra`.

# Arguments

  - `source`: an expression, or the path of a file whose last value counts.

# Keywords

  - `parameters`: if there are any, `source` gives a function or type, and is called with them.

# Examples

```julia
load_code("u -> u[1]^2 + u[2]^2")
load_code("LotkaVolterra"; alpha = 1.5, beta = 1.0, gamma = 3.0, delta = 1.0)
```
"""
function load_code(source::AbstractString; parameters...)
    sandbox = Module(:Law)
    push!(SANDBOXES, sandbox)
    Core.eval(sandbox, :(const PNDE = $PNDE))
    Core.eval(sandbox, :(const LinearAlgebra = $LinearAlgebra))
    Core.eval(sandbox, :(using .PNDE, .LinearAlgebra))
    Core.eval(sandbox, :(const include = $(path -> Base.include(sandbox, path))))
    in_a_file = endswith(source, ".jl")
    in_a_file && !isfile(source) && throw(ArgumentError("there is no file $source"))
    check_syntax(in_a_file ? read(source, String) : source, in_a_file ? basename(source) : "the twin")
    code = in_a_file ? Base.include(sandbox, abspath(source)) : include_string(sandbox, source, "law")
    return isempty(parameters) ? code : Base.invokelatest(code; parameters...)
end

"""
Whether Julia can read `text`, which messages call `name`.

# Throws

  - `ArgumentError` saying where it cannot.
"""
function check_syntax(text, name)
    fault = try
        Meta.parseall(text; filename = name)
    catch error
        error
    end
    fault isa Expr && (fault = syntax_error(fault))
    fault === nothing && return
    told = split(sprint(showerror, fault), '\n')
    # Of the parser's lines, one has the place and the last what is wrong there.
    place = match(r":(\d+):(\d+)\s*$", something(findfirst_line(contains("Error @"), told), ""))
    what = strip(replace(String(last(filter(!isempty, told))), r"^[#\s└─┘╙|]*" => ""))
    where_in = place === nothing ? "" : " in line $(place[1]), column $(place[2])"
    throw(ArgumentError("$name has a syntax error$where_in: $what"))
end

findfirst_line(test, lines) = (k = findfirst(test, lines); k === nothing ? nothing : lines[k])

"The error that a parsed file holds, if it does."
function syntax_error(expression::Expr)
    expression.head in (:error, :incomplete) && return only_error(first(expression.args))
    for part in expression.args
        found = part isa Expr ? syntax_error(part) : nothing
        found === nothing || return found
    end
    return nothing
end
only_error(error::Exception) = error
only_error(message) = ArgumentError(string(message))

"""
    as_constraint(code, [takes, source])

The law that `load_code` gave: a law, its type, or a function of one state and of what `takes` names, see [`Constraint`](@ref).

# Throws

  - `ArgumentError` if it is none of these.
"""
as_constraint(law::AbstractConstraint, takes = (), source = "") = law
as_constraint(law::Type{<:AbstractConstraint}, takes = (), source = "") = law()
as_constraint(law::Function, takes = (), source = "") = Constraint(law; takes)
function as_constraint(law, takes = (), source = "")
    throw(ArgumentError("$source is a $(typeof(law)), neither a law nor a function of the state"))
end
