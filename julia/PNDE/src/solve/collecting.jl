# When garbage is collected in training. What the evaluations of a step keep for its derivative is garbage once the step is done.
# A collection in its midst takes that for lasting, and so, after a few steps, looks through all that Julia holds, its compiled
# code included: of small networks that took twice as long as the steps themselves.

"Bytes that a step may make before a collection in its midst is better than none."
const STEP_BYTES = Ref(2^30)

"Bytes after which a collection follows a step; a processor's caches hold no more anyway."
const COLLECTED_BYTES = Ref(2^26)

"What Julia had made in all, in bytes, when a step without collections began; and what such steps made since the last collection."
const MADE = (until = Ref(typemax(Int)), since = Ref(0))

"""
    without_collections(f, adjoint, θ)

f(), the step of a training of θ, with collections put off until its end, or until [`collect_if_large`](@ref) finds that it has
made a lot. Only with stored steps, which ask for that, and not on a card, whose memory Julia does not count.
"""
without_collections(f, adjoint, θ) = f()
function without_collections(f, ::StoredSteps, ::Array)
    began, enabled = Base.gc_bytes(), GC.enable(false)
    MADE.until[] = began
    result = try
        f()
    finally
        MADE.until[] = typemax(Int)
        GC.enable(enabled)
    end
    MADE.since[] += Base.gc_bytes() - began
    if enabled && MADE.since[] > COLLECTED_BYTES[]
        MADE.since[] = 0
        GC.gc(false)
    end
    return result
end

"Let garbage be collected in the midst of a step that has made more than [`STEP_BYTES`](@ref)."
function collect_if_large()
    Base.gc_bytes() - MADE.until[] > STEP_BYTES[] || return nothing
    MADE.until[] = typemax(Int)
    GC.enable(true)
    return nothing
end
