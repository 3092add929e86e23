# SPDX-License-Identifier: Apache-2.0
#
# Compares a kernel configuration with what was asked for. Used by `build`:
#   awk -v arch=ARCH -f check.awk KNOWN CONFIG FRAGMENT… must-have.list must-lack.list
# KNOWN lists every option of the source, so that a misspelt name is a fault, not a check that
# always passes. Prints each fault and exits 1, or prints how much was checked.

function fault(text) { print "  " file ":" FNR ": " text; faults++ }
function value(name) { return (name in has) ? has[name] : "n" }
function reason(text) { return sub(/^[^ \t]+[ \t]+#?[ \t]*/, "", text) ? text : "" }

FNR == 1 { nth++; file = FILENAME; sub(/.*\//, "", file); section = "all" }
nth == 1 { known[$1]; next }
nth == 2 { if (match($0, /^CONFIG_[A-Za-z0-9_]+=/))
               has[substr($0, 1, RLENGTH - 1)] = substr($0, RLENGTH + 1)
           next }
/^[ \t]*(#|$)/ { next }
/^\[.*\]$/ { section = substr($0, 2, length($0) - 2)
              if (section !~ /^(all|x86_64|aarch64)$/) fault("unknown section " $0)
              next }
section != "all" && section != arch { next }

{
    name = $1
    sub(/=.*/, "", name)
    if (name !~ /^CONFIG_[A-Za-z0-9_]+$/) { fault("cannot read this line: " $0); next }
    if (!(name in known)) { fault(name ": the kernel source has no such option"); next }
    why = reason($0)
    if (why == "") fault(name ": no reason given")
    checked++
}

file == "must-lack.list" {
    if (value(name) != "n") fault(name " is on and must not be: " why)
    next
}

{
    want = match($0, /=("[^"]*"|[^ \t]+)/) ? substr($0, RSTART + 1, RLENGTH - 1) : "a value"
    if (value(name) != want) fault(name " is " value(name) " and must be " want ": " why)
}

END { if (faults) exit 1; print checked " options" }
