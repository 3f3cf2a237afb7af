# ES(t) of a GraphNet log at p = 0 and b = 0.1, for t = -10 .. 4: awk -f es.awk LOG
#
# Shares no code with the package. It knows logs of float32 outputs only: of the four lines of
# tolerances that a log has for each t (float16, bfloat16, float32, float64) it reads the third.

function close_sample(    t) {
    if (!samples++) return
    fault = eager && compiled && !error && speedup != "" ? 0 : 3  # tolerated from this t on
    for (t = -10; t <= 4; t++) {
        at = t < 1 ? t : 1
        if (!fault && passes[at]) log_sum[t] += log(speedup)
        else if (t < (fault ? fault : 1)) log_sum[t] += log(0.1)
    }
}
/\[Processing\]/ { close_sample(); eager = compiled = error = lines = 0; speedup = ""; delete passes }
/\[Datatype\]\[eager\]/ { eager = 1 }
/\[Datatype\]\[compiled\]/ { compiled = 1 }
/(Error|Exception):/ { error = 1 }
/\[Correctness\]\[all_close/ { if (lines % 4 == 2) passes[int(lines / 4) - 10] = !/: .*0/; lines++ }
/\[Speedup\]\[e2e\]/ { speedup = $NF }
END {
    close_sample()
    for (t = -10; t <= 4; t++)
        printf "%s\"%d\": %.16g", t == -10 ? "{" : ", ", t, exp(log_sum[t] / (samples - 1))
    print "}"
}
