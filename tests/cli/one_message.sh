# Sourced by the tests of failing runs, which have `work` and `fail`: what stands in $work/err.
#
# one_message WHAT: one line says where and why the run ended, and hapc says nothing else. The launch
# line does not count, nor what Open MPI prints by itself ("[host…", when a peer's connection breaks).
one_message()
{
    local said ours='^(hapc: )?error: .|^hapc: interrupted|^rank [0-9]+ host .'
    said=$(grep -vE '^([A-Z_0-9]*=.* )?[^ ]*mpirun |^\[[^] ]+[]:]|^hapc: (starts|ranks join|reads|rehearses) ' "$work/err")
    [[ "$said" != *$'\n'* && "$said" =~ $ours ]] || fail "$1: not exactly one message: $(cat "$work/err")"
}
