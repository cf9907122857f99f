package ql_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
)

// Statements of HBase and of cbt have the same meaning here, or are answered with the
// statement to type instead.
func TestForeignStatementsMeanWhatTheyMeanElsewhere(t *testing.T) {
	for text, want := range map[string]string{
		// HBase's times are milliseconds; all microseconds of a millisecond are the
		// same time.
		`put 't', 'r', 'f:q', 'v', 1706140800000`:                     `put t r f:q="v"@1706140800000000`,
		`put 't', 'r', 'f:q', 'v', 1706140800000000`:                  `! HBase's times are milliseconds from 0 to 253402300799999, and not 1706140800000000`,
		`get 't', 'r', {COLUMN => 'f:q', TIMESTAMP => 1706140800000}`: `get t r columns=f:q since=1706140800000000 until=1706140800001000`,
		`scan 't', {TIMERANGE => [1706140800000, 1706140900000]}`:     `scan t since=1706140800000000 until=1706140900000000`,
		`scan 't', {TIMERANGE => [0, 9223372036854775807]}`:           `scan t since=0`,
		`scan 't', {TIMERANGE => [1, 2], VERSIONS => 3}`:              `scan t versions=3 since=1000 until=2000`,
		`count 't', {TIMERANGE => [1, 2]}`:                            `count t since=1000 until=2000`,
		`scan 't', {TIMESTAMP => 5, TIMERANGE => [1, 2]}`:             `! timerange cannot be joined with timestamp; give one of them`,
		`scan 't', {TIMESTAMP => 5, FILTER => "TimestampsFilter(6)"}`: `! cannot be joined with timestamp`,
		`scan 't', {TIMESTAMP => now}`:                                `! expected a time in milliseconds, not "now"`,
		`scan 't', {FILTER => "TimestampsFilter(5)"}`:                 `scan t since=5000 until=6000`,
		`scan 't', {FILTER => "TimestampsFilter(5, 6)"}`:              `! since= and until= bound the times`,

		`delete 't', 'r', 'f:q', 5`:                      `delete t r f:q since=5000 until=6000`,
		`delete 't', 'r', 'f:q'`:                         `! HBase's delete removes the newest version; write delete t r f:q@TIME for that, with its time from get t r columns=f:q, or delete t r f:q for all versions`,
		`delete 't', 'r', 'f'`:                           `! to delete the family in this row write delete t r f:*`,
		`delete 't', 'r'`:                                `! HBase's delete names a column; to delete the row write delete t r`,
		`delete 't', 'r', 'f:a', 'f:b'`:                  `! is not a timestamp`,
		`delete 't', 'r', 'f:a', 5, 'f:b'`:               `! expected the end of the statement`,
		`deleteall 't', 'r'`:                             `delete t r`,
		`deleteall 't', 'r', 'f:q'`:                      `delete t r f:q`,
		`deleteall 't', 'r', 'f'`:                        `delete t r f:*`,
		`deleteall 't', 'r', 'f:q', 5`:                   `delete t r f:q until=6000`,
		`deleteall 't', 'r', 'f:q', 9223372036854775807`: `delete t r f:q`,
		`deleteall 't', 'r', 'f', 5`:                     `! HBase's delete of a family by time has no equivalent here`,
		`deleteall 't', {ROWPREFIXFILTER => 'p'}`:        `delete t prefix=p`,
		`deleteall 't', {ROWPREFIXFILTER => 'p'}, 'f:q'`: `! expected an option of delete`,

		// A reverse scan goes from STARTROW down to STOPROW.
		`scan 't', {STARTROW => 'm', REVERSED => true}`:                                       `scan t end="m\0" reverse`,
		`scan 't', {STARTROW => 'm', STOPROW => 'd', REVERSED => true}`:                       `scan t start="d\0" end="m\0" reverse`,
		`scan 't', {STARTROW => 'd', STOPROW => 'm', REVERSED => false}`:                      `scan t start=d end=m`,
		`scan 't', {REVERSED => true, FILTER => "InclusiveStopFilter('d')", STARTROW => 'm'}`: `! also sets start`,
		`scan 't', {REVERSED => true, FILTER => "InclusiveStopFilter('d')"}`:                  `scan t start=d reverse`,
		`read t start=d end=m reversed=true cells-per-column=1`:                               `scan t start=d end=m versions=1 reverse`,
		`scan 't', {STARTROW => 'd', FILTER => "InclusiveStopFilter('m')"}`:                   `scan t start=d end="m\0"`,

		// Values are text.
		`put 't', 'r', 'f:q', '42'`:                 `put t r f:q="42"`,
		`put 't', 'r', 'f:q', 42`:                   `put t r f:q="42"`,
		`put 't', 'r', 'f:q', 007`:                  `! HBase's shell stores another text than 007; quote it`,
		`put 't', 'r', 'f:q', 0x10`:                 `! stores another text`,
		`append 't', 'r', 'f:q', 5`:                 `append t r f:q "5"`,
		`scan 't', {COLUMNS => 'f:q:toInt'}`:        `! values have types here, and are not converted; write f:q`,
		`get 't', 'r', 'f:q:c(a.b.C).toString'`:     `! values have types here`,
		`create 't', 'f', {NAME => 'g', TTL => 60}`: `create table t family f max_versions=1, family g max_versions=1 max_age=1m`,

		// cbt shows all versions, and its qualifiers are patterns.
		`read t`:                            `scan t versions=all`,
		`read t cells-per-column=2 count=5`: `scan t versions=2 limit=5`,
		`cbt lookup t r`:                    `get t r versions=all`,
		`explain read t`:                    `explain scan t versions=all`,
		`read t columns=f:`:                 `scan t columns=f:* versions=all`,
		`read t columns=f:a.b`:              `scan t columns=f:/"a.b"/ versions=all`,
		`read t columns=f:ab*,g:c`:          `scan t columns=f:/"ab*"/,g:c versions=all`,
		`read t columns=f:a,b`:              `! cbt's columns=b means every family; name one, as in columns=FAM:b`,
		`read t columns=:b`:                 `! means every family`,
		`set t r f:q=12`:                    `put t r f:q="12"`,
		`set t r f:q=true@1706140800000000`: `put t r f:q="true"@1706140800000000`,
		`addtocell t r f:q=5`:               `add t r f:q=5@now`,
		`addtocell t r f:q=5@7`:             `add t r f:q=5@7`,
		`deletecolumn t r f q`:              `delete t r f:q`,
		`deletecolumn t r f`:                `! is not a column`,
		`deletecolumn t r f:*`:              `! means several columns`,
		`deletecolumn t r "" q`:             `! expected the family's name`,
	} {
		st, err := ql.Parse(text)
		if says, refused := strings.CutPrefix(want, "! "); refused {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s\n\t%v\n\twant %s", text, err, says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := ql.Print(st); got != want {
			t.Errorf("%s\n\t%s\n\twant %s", text, got, want)
		}
		checkPrintLaw(t, st)
	}
}

// foreignForms are statements of HBase and cbt: $N is a text in quotes, $B a word
// of the language, $C a column, $T a time.
var foreignForms = []string{
	"delete $N, $N, $C, $T", "delete $N, $N, $C", "deleteall $N, $N, $C, $T", "deleteall $N, $N, $C", "deleteall $N, $N, $N", "deleteall $N, $N",
	"deleteall $N, {ROWPREFIXFILTER => $N}", "deleterow $B $B", "deletecolumn $B $B $B $B", "deletecolumn $B $B $C", "delete $N $N $C", "cbt delete $B $B",
	"put $N, $N, $C, $N", "put $N, $N, $C, $N, $T", "append $N, $N, $C, $N", "incr $N, $N, $C, '5'", "set $B $B $C=$B", "set $B $B $C=$N@$T", "addtocell $B $B $C=5",
	"get $N, $N, $C", "get $N, $N, [$C, $N]", "get $N, $N, {COLUMN => $C, TIMESTAMP => $T}", "get_counter $N, $N, $C", "lookup $B $B columns=$C",
	"scan $N, {COLUMNS => [$C], STARTROW => $N, STOPROW => $N, TIMERANGE => [$T, $T], REVERSED => true}", `scan $N, {FILTER => "TimestampsFilter($T)"}`,
	"read $B start=$B end=$B reversed=true columns=$C", "count $N, {INTERVAL => 5}", "create $N, $N, {NAME => $N, TTL => 5}",
	"alter $N, NAME => $N, VERSIONS => 5", "alter $N, 'delete' => $N", "truncate $N", "createtable $B families=$B", "list $N",
}

// The printed form of a foreign statement parses to the same statement, for any names,
// values and times.
func TestForeignStatementsPrintToWhatTheyMean(t *testing.T) {
	words := rapid.SampledFrom([]string{"a", "F", "x y", "", "it's", "q:r", "*", "a*", "..", "/p/", "@5", "\x00", "\xff", "é", "reverse", "'", `"`, "--", "#", "12", "-", "(1)", "nil", "toInt", "a;b"})
	times := rapid.SampledFrom([]string{"0", "1", "1706140800000", "253402300799999", "9223372036854775807", "'7'"})
	placeholder := regexp.MustCompile(`\$[A-Z]`)
	parsed := 0
	rapid.Check(t, func(t *rapid.T) {
		text := placeholder.ReplaceAllStringFunc(rapid.SampledFrom(foreignForms).Draw(t, "form"), func(name string) string {
			word := words.Draw(t, name)
			switch {
			case name == "$T":
				return times.Draw(t, name)
			case name == "$B":
				return lex.QuoteKey(word)
			case name == "$C" && rapid.Bool().Draw(t, "bare"):
				return lex.QuoteColumn(word, words.Draw(t, "qualifier"))
			case name == "$C":
				word += ":" + words.Draw(t, "qualifier")
			}
			if rapid.Bool().Draw(t, "single") {
				return "'" + strings.ReplaceAll(word, "'", "''") + "'"
			}
			return lex.QuoteText(word)
		})
		if st, err := ql.Parse(text); err == nil {
			parsed++
			t.Logf("%s: %s", text, ql.Print(st))
			checkPrintLaw(t, st)
		}
	})
	if parsed < 10 {
		t.Errorf("only %d statements parsed", parsed)
	}
}
