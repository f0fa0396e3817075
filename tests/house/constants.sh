#!/bin/bash
# Numbers that were chosen by hand stand in four tables, each with its unit and how it was chosen:
# synth/plan/search_limits.h, solver/solver_limits.h, costmodel/device_defaults.h and pair_limits.h.
# Elsewhere in synth, solver and costmodel this finds
#   a name that is given a number:  enum { NAME = 12 }, static const double x = 1.2, #define NAME 12
#   a fraction or a power of ten in code:  1.15, 1e-9
#   an integer above 10 that bounds, scales or divides something:  i < 24, 12 * x, x / 300
# and a name that two tables define, or one that does not say how its value was chosen.
# Free: 0, 0.5, 1, 2, the units 1e3, 1e6, 1e9 and 100 (percent), what counts bits (16, 32, 63, 64, 127,
# 128; shifts), sizes of arrays, hexadecimal numbers.
# Usage: tests/house/constants.sh [ROOT]
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 2
tables='synth/plan/search_limits.h solver/solver_limits.h costmodel/device_defaults.h costmodel/pair_limits.h'

mapfile -t files < <(find synth solver costmodel -name '*.[ch]' 2>/dev/null | sort)
[ ${#files[@]} -gt 0 ] || {
    echo "no source files found under $PWD"
    exit 2
}

perl -e '
my %table = map { $_ => 1 } split / /, shift;
my ($bad, $files, %defined) = (0, 0);

# Names whose number is what they mean, not what somebody chose.
my %meaning = map { $_ => 1 } qw(SYN_MAX_AXES AXIS0 AXIS1 N_DTYPES);

sub complain { print "$_[0]: $_[1]\n"; $bad = 1 }

for my $file (@ARGV) {
    open my $in, "<", $file or die "$file: $!\n";
    local $/;
    my $text = <$in>;
    $files++;
    if ($table{$file}) {
        while ($text =~ /^#define (\w+) (.*)$/mg) {
            my ($name, $line) = ($1, $2);
            next if $name =~ /_H$/;
            complain($file, "$name stands in $defined{$name}, too") if $defined{$name};
            $defined{$name} = $file;
            complain($file, "$name says not what it is and how it was chosen: // … [set]")
                unless $line =~ m{// .*\[\w+\]$};
        }
        next;
    }
    # Comments and texts become blanks, lines stay.
    $text =~ s{//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\x27(?:\\.|[^\x27\\])*\x27}
              {my $x = $&; $x =~ s/[^\n]/ /g; $x}gse;
    my $number = qr/(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFuUlL]*(?![\w.])/;
    my $n = 0;
    my @code = split /\n/, $text;
    for (@code) {
        $n++;
        next if /^\s*#\s*include/;
        my $where = "$file:$n";
        if (/^\s*#\s*define\s+(\w+)\s+\(*-?$number/ && !/<<|\s[01]\s*$/) {
            complain($where, "#define $1 belongs into a table of constants");
            next;
        }
        if (/\bstatic\s+const\s+(?:double|float|int|size_t|long|u?int\d+_t)\s+\w+\s*=\s*-?(?!0;)$number\s*[,;]/) {
            complain($where, "a static const belongs into a table of constants");
            next;
        }
        while (/\b([A-Z]\w*)\s*=\s*($number)/g) {
            my ($name, $value) = ($1, $2);
            complain($where, "$name = $value belongs into a table of constants")
                if !$meaning{$name} && $value !~ /^[01]u?$/ && substr($_, $+[0]) !~ /^ (?:<<|\+) /; # computed
        }
        while (/($number)/g) {
            my ($x, $before, $after) = ($1, substr($_, 0, $-[0]), substr($_, $+[0]));
            (my $value = $x) =~ s/[fFuUlL]+$//;
            if ($value =~ /[.eE]/) {
                next if $value =~ /^(?:0\.0|0\.5|1\.0|2\.0|1e3|1e6|1e9|1e-9)$/
                     && ($value ne "1e-9" || $after =~ /^ \* \(double\)\w+\.tv_nsec/);
                complain($where, "$x belongs into a table of constants");
                next;
            }
            next if $value <= 10 || $value =~ /^(?:16|32|63|64|100|127|128)$/;
            next if $before =~ /(?:<<|>>)=? *$/ || $after =~ /^ *(?:<<|>>)/ || $before =~ /\[[^\]]*$/;
            complain($where, "$x belongs into a table of constants")
                if $before =~ m{(?:[<>]=?|[-*/%+?:=]|return) ?$} || $after =~ m{^ ?[-<>*/%+?:]};
        }
    }
}
print "no number was chosen outside the tables, in $files files\n" unless $bad;
exit $bad;
' "$tables" "${files[@]}"
