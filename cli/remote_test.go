package cli

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
)

// Statements that have the same results locally and over the network.
const bothWays = `
create table fleet family b type=bytes, family d type=f64, family f type=f32, family n type=i64 versions=3, family s type=string, family sums aggregate=sum, family t type=bool
create table fleet family a
put fleet plane#1 s:model="Boeing 757" n:miles=51_000_000 d:load=0.75 f:wear=1.5 t:flies=true b:raw=x'00ff'
put fleet plane#2 s:model="Airbus \"A320\"" n:miles=-5 t:flies=false
put fleet plane#2 n:miles=7@2024-01-01
put fleet plane#2 n:miles=8@2024-01-02
put fleet user#1 s:name="Ünï"
scan fleet
scan fleet prefix=plane# columns=s:*,n:miles
scan fleet columns=n:m* versions=2 limit=1
scan fleet start=plane#2 end=user#2 reverse
scan fleet offset=1 limit=1
scan fleet where n:miles > 0
scan fleet where s:model == "Boeing 757" and t:flies == true columns=d:load
scan fleet where n:miles absent
scan fleet keys-only
scan fleet keys-only where n:miles exists limit=1
scan fleet keys-only where n:miles exists offset=1
scan fleet regex=.*1
scan fleet columns=s:/mo.*/
get fleet plane#1
get fleet nothing
count fleet
count fleet cells
incr fleet plane#1 n:miles 5
incr fleet plane#1 n:other
append fleet plane#1 s:log "one"
append fleet plane#1 s:log " two"
cas fleet plane#1 if n:other == 1 put s:state=seen
cas fleet plane#1 if n:other == 5 put s:state=lost else put s:state=kept
cas fleet plane#9 if s:state absent put s:state=new
cas fleet plane#9 if s:state != old put s:state=newer
add fleet sum sums:x=5
add fleet sum sums:x=6
get fleet sum
scan fleet columns=s:state
put fleet s:big="new\n" t:flies=false where n:miles >= 51_000_005 or s:state == kept dry-run
put fleet s:big="new\n" t:flies=false where n:miles >= 51_000_005 or s:state == kept
put fleet s:big="new\n" t:flies=false where n:miles >= 51_000_005 or s:state == kept yes
put fleet s:big=old where d:load between 0.5 and 1 and f:wear == 1.5 and b:raw == x'00ff' and t:flies == false yes
put fleet n:least=2 where n:other < n:miles and not s:name exists yes
put fleet s:x=1 where sums:x == 11 yes
put fleet n:x=text where n:least == 2 yes
scan fleet columns=s:*,n:least
delete fleet s:big n:least where key like 'plane#%' and n:least.ts > 2024-01-01 dry-run
delete fleet s:big n:least where key like 'plane#%' and n:least.ts > 2024-01-01 yes
delete fleet where s:x == 1 prefix=su yes
delete fleet where s:x == 1 yes
scan fleet columns=s:*,n:least
histogram fleet n:miles bins=3
sample fleet 100 columns=s:*
sample fleet 100 where n:none exists
aggregate fleet cells, max(n:miles) group by key top 2 by cells
sparkline fleet plane#1 n:miles
delete fleet plane#1 s:log
delete fleet plane#9
delete fleet prefix=user# yes
put fleet range#1 s:a=1
put fleet range#2 s:a=1
put fleet range#3 s:a=1
delete fleet start=range#1 end=range#3
delete fleet start=range#1 end=range#3 yes
scan fleet prefix=range#
delete fleet start=range# end=s yes
scan fleet columns=s:*
alter table fleet add family more type=i64
alter table fleet set more versions=2
put fleet plane#1 more:x=1
alter table fleet drop family more yes
alter table fleet set n versions=1
alter table fleet set n versions=2 ttl=1d
get fleet plane#2 columns=n:* versions=all
alter table fleet set n versions=2 yes
alter table fleet set n versions=3
alter table fleet set change_stream=7d
alter table fleet set change_stream=1d
alter table fleet set change_stream=none
alter table fleet set change_stream=none yes
describe fleet
tables
copy table fleet to part columns=s:*,d:load as d:far where s:model exists
scan part versions=all
copy table fleet to part columns=d:load as d:far overlap
copy table fleet to part columns=n:miles as s:far
copy table fleet to part columns=x:*
copy table fleet to fleet columns=s:model as s:kind overlap
scan fleet columns=s:*
diff fleet part columns=d:*,s:*
diff fleet part columns=d:*,s:kind values limit=1
diff fleet part columns=s:model as csv
diff part part
drop table part yes
watch fleet
truncate fleet yes
count fleet
drop table fleet yes
tables
scan fleet
put fleet a s:x=1
drop fleet
`

// Statements work over the network as in a local database: they print the same, and
// fail with the same message at the same place.
func TestStatementsOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(bothWays), 0o600); err != nil {
		t.Fatal(err)
	}
	on := func(args ...string) string {
		var out, errs strings.Builder
		args = append(args, "--keep-going", "--format", "table", "-f", script)
		if code := run(args, strings.NewReader(""), &out, &errs, noEnv); code != 1 {
			t.Errorf("smolwc %s: exit %d\n%s", strings.Join(args, " "), code, errs.String())
		}
		return out.String() + "\n" + errs.String()
	}
	near, far := strings.Split(on("--db", filepath.Join(t.TempDir(), "near")), "\n"), strings.Split(on("--addr", s.addr), "\n")
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z? *`)
	for i := range max(len(near), len(far)) {
		if i >= len(near) || i >= len(far) {
			t.Errorf("%d lines at hand, %d over the network:\n%s", len(near), len(far), strings.Join(far, "\n"))
			break
		}
		if a, b := times.ReplaceAllString(near[i], "TIME "), times.ReplaceAllString(far[i], "TIME "); a != b && !strings.HasPrefix(a, "----") && !strings.HasPrefix(a, "ROW") {
			t.Errorf("line %d: at hand %q, over the network %q", i+1, a, b)
		}
	}
}

// Files are imported and exported over the network with the statements that do it at
// hand: the same messages, the same files, the same cells.
func TestFilesOverTheNetwork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"planes.csv":   "tail,seats,load,at\nTF-FIR,183,0.5,2024-01-01\nLN-RVK,160,NaN,2024-01-02\n\"N 1\"\"x\",,-0,2024-01-03\n",
		"bad.csv":      "tail,seats\nTF-FIR,many\nTF-ICY,160\n",
		"twice.csv":    "tail,seats,at\nTF-FIR,1,2024-02-01\nTF-FIR,2,2024-02-01\n",
		"trips.jsonl":  `{"id":7,"to":{"at":"OSL"},"tags":{"late":true,"load":0.75},"legs":[{"m":5,"at":1},{"m":8,"at":2}]}` + "\n",
		"landings.csv": "place,n\nKEF,2\nKEF,3\nOSL,1\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const statements = `
create table fleet family b type=byte, family f type=f64, family s, family n type=i32 versions=3, family sums aggregate=sum
import fleet from 'DIR/planes.csv' key='plane#{tail}' columns=b:seats=seats,f:load=load,s:tail=tail ts=at dry-run
import fleet from 'DIR/planes.csv' key='plane#{tail}' columns=b:seats=seats,f:load=load,s:tail=tail,s:seats=seats:i32 ts=at
import fleet from 'DIR/bad.csv' key='plane#{tail}' columns=n:seats=seats
import fleet from 'DIR/bad.csv' key='bad#{tail}' columns=n:seats=seats ts=none
import fleet from 'DIR/bad.csv' key='bad#{tail}' columns=x:seats=seats
import fleet from 'DIR/twice.csv' key='twice#{tail}' columns=n:seats=seats ts=at
import fleet from 'DIR/twice.csv' key='twice#{tail}' columns=n:seats=seats ts=at bad-lines=1
import fleet from 'DIR/trips.jsonl' key='trip#{id:04}' columns=n:leg='$.legs[*].m' ts='$.legs[*].at'
import fleet from 'DIR/trips.jsonl' key='trip#{id:04}' columns=s:*='$.tags' ts='$.legs[0].at'
import fleet from 'DIR/landings.csv' key='{place}' columns=sums:landings=n again
import fleet from 'DIR/nothing.csv'
scan fleet versions=all
export fleet to 'DIR/SIDE.csv'
export fleet to 'DIR/SIDE.csv'
export fleet columns=b:*,f:*,s:*,n:* to 'DIR/SIDE.jsonl.gz'
export fleet to 'DIR/SIDE.parquet' versions=1
export fleet prefix=plane# where f:load exists wide=b:seats,f:load=load,s:tail to 'DIR/SIDE-wide.parquet'
export fleet prefix=plane# where b:seats > 170 or s:tail like 'LN%' wide=b:seats,f:load=load,s:tail to '-' as csv
export fleet columns=n:* to '-' as jsonl
create table again like fleet
import again from 'DIR/SIDE.jsonl.gz' again
diff fleet again columns=b:*,f:*,s:*,n:*
`
	s := startServer(t, "--db", filepath.Join(dir, "far-db"), "--durability", "async")
	on := func(side string, where ...string) []string {
		var out, errs strings.Builder
		script := strings.NewReplacer("DIR", dir, "SIDE", side).Replace(statements)
		code := run(append(where, "--keep-going", "--format", "table", "-f", "-"), strings.NewReader(script), &out, &errs, noEnv)
		if code != 1 {
			t.Errorf("%s: exit %d\n%s", side, code, errs.String())
		}
		return strings.Split(strings.ReplaceAll(out.String()+"\n"+errs.String(), side, "SIDE"), "\n")
	}
	near, far := on("near", "--db", filepath.Join(dir, "near-db")), on("far", "--addr", s.addr)
	varying := regexp.MustCompile(` in [\d.]+(ms|µs|us|s).*$|<stdin>|, \d+(\.\d+)? (k?B|bytes)`)
	for i := range max(len(near), len(far)) {
		if i >= len(near) || i >= len(far) || varying.ReplaceAllString(near[i], "") != varying.ReplaceAllString(far[i], "") {
			t.Fatalf("line %d: at hand\n%s\nover the network\n%s", i+1, strings.Join(near[min(i, len(near)):], "\n"), strings.Join(far[min(i, len(far)):], "\n"))
		}
	}
	if text := strings.Join(far, "\n"); !strings.Contains(text, "imported 2 rows, 2 cells from 3 lines") || !strings.Contains(text, "(no difference)") {
		t.Errorf("the server's side is\n%s", text)
	}
	for _, ending := range []string{".csv", ".parquet", "-wide.parquet"} {
		a, errA := os.ReadFile(filepath.Join(dir, "near"+ending))
		b, errB := os.ReadFile(filepath.Join(dir, "far"+ending))
		if errA != nil || errB != nil || string(a) != string(b) {
			t.Errorf("%s differs: %d and %d bytes, %v, %v", ending, len(a), len(b), errA, errB)
		}
	}
}

// The recipes of the page are the same at hand and over the network, except those that
// the page says are not.
func TestRecipesOverTheNetwork(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	within := false
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "```") {
			within = strings.HasPrefix(line, "```smolwc")
		}
		statement, begins := strings.CutPrefix(line, "smolwc> ")
		more, goesOn := strings.CutPrefix(line, "   -> ")
		if within && begins {
			script.WriteString(statement)
		} else if within && goesOn {
			script.WriteString(more)
		}
	}
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(script.String(), "examples/", "../docs/examples/")), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	on := func(args ...string) []string {
		var out, errs strings.Builder
		run(append(args, "--keep-going", "--format", "table", "-f", file), strings.NewReader(""), &out, &errs, noEnv)
		return strings.Split(out.String()+"\n"+errs.String(), "\n")
	}
	near, far := on("--db", filepath.Join(t.TempDir(), "near")), on("--addr", s.addr)
	if len(near) < 100 {
		t.Fatalf("the recipes print %d lines", len(near))
	}
	varying := regexp.MustCompile(` *\d{4}-\d\d-\d\dT[\d:.]+(Z|\+\d\d:\d\d)? *| in [\d.]+(ms|µs|us|s).*$|^-+( +-+)*$|^copied .* of fleet to`)
	for i := range max(len(near), len(far)) {
		if i >= len(near) || i >= len(far) {
			t.Fatalf("%d lines at hand, %d over the network:\n%s", len(near), len(far), strings.Join(far, "\n"))
		}
		a, b := varying.ReplaceAllString(near[i], " "), varying.ReplaceAllString(far[i], " ")
		if a != b && !strings.HasPrefix(a, "copied table fleet") && !strings.HasPrefix(a, "ROW") {
			t.Errorf("line %d: at hand %q, over the network %q", i+1, near[i], far[i])
		}
	}
}

// The subcommands do the same, with pipes as well; adds are not made twice by mistake.
func TestFileCommandsOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	output(t, "--addr", s.addr, "-c", "create table fleet family s, family sums aggregate=sum")
	on := func(in string, code int, args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if got := run(append(args, "--addr", s.addr), strings.NewReader(in), &out, &errs, noEnv); got != code {
			t.Errorf("smolwc %s: exit %d, want %d\n%s", strings.Join(args, " "), got, code, errs.String())
		}
		return out.String() + errs.String()
	}
	on("tail,model\nTF-FIR,757\n", 0, "import", "fleet", "-", "--as", "csv", "--key", "{tail}", "--columns", "s:model")
	if got, want := on("", 0, "export", "fleet", "-", "--as", "csv", "--wide", "s:model"), "row,s:model\nTF-FIR,757\n"; !strings.HasPrefix(got, want) {
		t.Errorf("export: %s", got)
	}
	adds := []string{"import", "fleet", "-", "--as", "csv", "--key", "{tail}", "--columns", "sums:n=n"}
	if got := on("tail,n\nTF-FIR,1\n", 1, adds...); !strings.Contains(got, "write again to import it") {
		t.Errorf("an import that adds: %s", got)
	}
	on("tail,n\nTF-FIR,1\n", 0, append(adds, "--again")...)
	var lines strings.Builder
	lines.WriteString("k,a,b,c,d,e,f,g,h,i,j,k2\n")
	for i := range 12_000 { // more than one batch, which is more than one request
		fmt.Fprintf(&lines, "%05d%s\n", i, strings.Repeat(",1", 11))
	}
	columns := "s:a=a,s:b=b,s:c=c,s:d=d,s:e=e,s:f=f,s:g=g,s:h=h,s:i=i,s:j=j,s:k=k2"
	if got := on(lines.String(), 0, "import", "fleet", "-", "--as", "csv", "--key", "many#{k}", "--columns", columns); !strings.Contains(got, "imported 12,000 rows, 132,000 cells") {
		t.Errorf("import of many rows: %s", got)
	}
	if got := on("", 0, "-c", "count fleet prefix=many# cells"); !strings.Contains(got, `{"rows":12000,"cells":132000}`) {
		t.Errorf("count: %s", got)
	}
}

// The changes of a table are the same at hand and over the network, also those whose
// values come in parts, and a token goes on where it was given.
func TestWatchOverTheNetwork(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	s := startServer(t, "--db", dir, "--durability", "async")
	on := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if code := run(args, strings.NewReader(""), &out, &errs, noEnv); code != 0 {
			t.Fatalf("smolwc %s: exit %d\n%s", strings.Join(args, " "), code, errs.String())
		}
		return out.String()
	}
	on("--addr", s.addr, "-c", "create table noted change_stream=1d family a, family n type=i32, family s aggregate=sum")
	began := time.Now().UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	large := filepath.Join(t.TempDir(), "large")
	text := "put noted k1 a:large='" + strings.Repeat("abcdefghij", 700_000) + "'"
	if err := os.WriteFile(large, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	on("--addr", s.addr, "-f", large, "-c", `put noted k2 a:x="é" a:y=5i32 a:raw=x'00ff' n:z=6@7 a:x=1@5 a:y=1@5`, "-c", "add noted k2 s:sum 5",
		"-c", "delete noted k2 a:x since=5 until=9", "-c", "delete noted k2 a:y@5", "-c", "delete noted k2 a:y", "-c", "delete noted k2")
	far := on("--addr", s.addr, "-c", "watch noted until=now since="+began)
	if n := strings.Count(far, "\n"); n != 7 || len(far) < 7_000_000 {
		t.Errorf("%d lines of %d bytes", n, len(far))
	}
	_, token, _ := strings.Cut(strings.SplitAfter(far, "\n")[1], `"token":"`)
	token, _, _ = strings.Cut(token, `"`)
	rest := on("--addr", s.addr, "-c", "watch noted until=now limit=5 token="+token)
	if rest == "" || !strings.HasSuffix(far, rest) || strings.Count(rest, "\n") != 5 {
		t.Errorf("after the token of the second change:\n%s", rest)
	}
	people := on("--addr", s.addr, "--format", "table", "-c", "watch noted prefix=k2 until=now since="+began)
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if near := on("--db", dir, "-c", "watch noted until=now since="+began); near != far {
		t.Error("the changes differ over the network")
	}
	if near := on("--db", dir, "--format", "table", "-c", "watch noted prefix=k2 until=now since="+began); near != people {
		t.Errorf("at hand\n%s\nover the network\n%s", near, people)
	}
	if !strings.Contains(people, "a:y=5i32") || !strings.Contains(people, "delete noted k2 a:x since=5 until=9\n") {
		t.Errorf("the changes are\n%s", people)
	}
}

// Values of every type, in families without a type and with each.
const everyType = `
create table t family b type=bytes, family d type=f64, family f type=f32, family i type=i32, family n type=i64, family p, family s type=string, family t type=bool, family u aggregate=hll, family y type=byte
put t a p:year=12@1 p:i=12i32@1 p:y=12byte@1 p:f=1.5f32@1 p:d=1.5@1 p:t=true@1 p:s=text@1 p:q="12"@1 p:b=x'0102'@1 p:nan=f32(nan)@1 p:none=""@1 p:zero=x''@1
put t a b:x=x'00'@1 s:x=text@1 t:x=true@1 y:x=12@1 i:x=-12@1 n:x=12@1 f:x=1.5@1 d:x=1.5@1
put t a i:y=12i32@1 y:y=7byte@1 f:y=f32(nan)@1
put t a i:x=99999999999
put t a y:x=300
put t a y:x=-1
put t a n:x=12i32
put t a s:x=12i64
put 't', 'h', 'p:x', '12', 5
set t c p:x=12@1 i:x=12@1
scan t
get t a columns=p:year versions=all
scan t where p:year == 12 columns=p:year
scan t where p:year > 11.5 columns=p:year
scan t where p:i <= 12 and p:s == text columns=p:s
scan t where p:s == 12 columns=p:s
scan t where p:q == "12" columns=p:q
scan t where p:b == x'0102' columns=p:b
scan t where y:x < 13 columns=y:x
put t a p:big=13@2; put t w#1#07 p:year=5@1 i:x=5@1; put t w#2#8 p:q=b@1 n:x=4@7; put t (1, "two") p:year=6@1 s:x="ab"@1
scan t where p:year == 12 or p:year == 5 columns=p:year
scan t where (p:year == 12 or n:x == 4) and not y:x exists keys-only
scan t where p:year in (5, 6.0) columns=p:year
scan t where p:year not in (5, 6) keys-only
scan t where p:year between 5 and 6 keys-only
scan t where p:year not between 5 and 6 keys-only
scan t where s:x like 'te%' or p:q like '_' keys-only
scan t where not s:x like 'te%' keys-only
scan t where s:x =~ /t.*/ or p:b =~ /'\x01\x02'/ keys-only
scan t where p:year == i:x keys-only
scan t where p:year > i:x keys-only
scan t where p:big.ts == 2 keys-only
scan t where n:x.ts between 6 and 8 or p:year.ts > 2024-01-01 keys-only
scan t where key like 'w#%' keys-only
scan t where key =~ /w.*/ and not key == w#2#8 keys-only
scan t where key in (a, (1, "two")) and key >= a keys-only
scan t where key-part(2) == 2 keys-only
scan t where key-part(2) == two or key-part(3) == 7 keys-only
scan t where not (p:year == 12 or p:absent == 1) keys-only
count t where p:year == 12 or n:x == 4
count t cells where p:year == 12 or n:x == 4
aggregate t count, count(p:year), distinct(p:year), sum(n:x), min(p:year), max(s:x) group by key-part(1)
aggregate t count, avg(p:year) group by p:year top 2 by avg(p:year) where p:year exists
scan t where n:x == "4"
scan t where n:x like '4'
scan t where p:q =~ /(/
scan t where no:q == 1 or p:q == 1
scan t where p:q == no:q or p:q == 1 keys-only
delete t w#1#07; delete t w#2#8; delete t (1, "two"); delete t a p:big
incr t a p:year 5
incr t a p:i
incr t a p:y 300
incr t a p:new
incr t a y:x
incr t a p:s
append t a p:s " more"
append t a p:b x'03'
append t a p:text text
append t a p:bytes x'04'
append t a p:year x
cas t b if p:x absent put p:x=7
cas t b if p:x == 7 put p:x=8 else put p:x=9
cas t b if p:x == 8i32 put p:x=9byte
cas t b if p:x > 8.5 put p:x="9"
cas t b if p:x == 9 put p:x=true
cas t b if p:x == "9" put p:x=false
cas t b if p:x != true put p:x=1.5
cas t b if p:x exists put i:x=5 y:x=6
add t u u:x=1 u:x=1i32 u:x=1.0 u:x="1" u:x=x'31' u:x=true u:x=1.5f32
scan t columns=u:x
alter table t add family z type=i32
put t z z:x=5
alter table t add family zz type=i64
alter table t set zz type=byte
put t z zz:x=5
describe t
`

// A statement stores the same values, of the same types, over the network as in a local
// database, and shows and compares them in the same way.
func TestTypesAreTheSameOverTheNetwork(t *testing.T) {
	t.Parallel()
	nearDir, farDir := filepath.Join(t.TempDir(), "near"), filepath.Join(t.TempDir(), "far")
	s := startServer(t, "--db", farDir, "--durability", "async")
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte(everyType), 0o600); err != nil {
		t.Fatal(err)
	}
	times := regexp.MustCompile(`"ts":\d{4,}|\d{4}-\d\d-\d\dT[\d:.]+Z`)
	on := func(args ...string) []string {
		var out, errs strings.Builder
		run(append(args, "--keep-going"), strings.NewReader(""), &out, &errs, noEnv)
		return strings.Split(times.ReplaceAllString(out.String()+errs.String(), "TIME"), "\n")
	}
	same := func(near, far []string) {
		t.Helper()
		for i := range max(len(near), len(far)) {
			if i >= len(near) || i >= len(far) || near[i] != far[i] {
				t.Fatalf("line %d: at hand\n%s\nover the network\n%s", i+1, strings.Join(near[min(i, len(near)):], "\n"), strings.Join(far[min(i, len(far)):], "\n"))
			}
		}
	}
	same(on("--db", nearDir, "--format", "jsonl", "-f", script), on("--addr", s.addr, "--format", "jsonl", "-f", script))
	if err := s.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	dump := []string{"--format", "jsonl", "-c", "scan t versions=all", "-c", "describe t"}
	near := on(append(dump, "--db", nearDir)...)
	if text := strings.Join(near, "\n"); !strings.Contains(text, `"t":"byte"`) || !strings.Contains(text, `"t":"f32"`) {
		t.Errorf("the dump is\n%s", text)
	}
	same(near, on(append(dump, "--db", farDir)...))
}

// Key formats, retention and the order of families are those of the statement.
func TestSettingsOfTablesOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	script := `create table legs key_format=tuple retention=lazy family meta, family a
		put legs ("N2", 7) meta:dest=OSL; put legs ("N2", 12) meta:dest=KEF
		create table more like legs family b; create table exact family z, family y versions=2
		scan legs; scan legs prefix=("N2") as jsonl; describe legs; describe more; describe exact; tables`
	on := func(args ...string) string {
		out, errs := output(t, append(args, "--format", "table", "-c", script)...)
		more, _ := output(t, append(args, "--format", "jsonl", "-c", "describe legs; describe exact")...)
		out += more
		return regexp.MustCompile(`"ts":\d+`).ReplaceAllString(out+errs, "")
	}
	near, far := on("--db", filepath.Join(t.TempDir(), "near")), on("--addr", s.addr)
	if near != far || !strings.Contains(far, `("N2", 12)`) || !strings.Contains(far, "lazy") {
		t.Errorf("at hand\n%s\nover the network\n%s", near, far)
	}
}

// Statements that do not work over the network fail with the reason, and do nothing.
func TestStatementsRefusedOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	output(t, "--addr", s.addr, "-c", "create table t family f, family n type=i64; put t a f:x=1; put t b f:x=1")
	for statement, want := range map[string]string{
		"restore 1 to nothing": "run smolwc restore BACKUP DIR --from TARGET where the new database is to be",
		"backup to nothing":    "nothing is a relative path; name an absolute one; the directory is on the server's machine",
		"checkpoint nothing":   "name a directory on the server's machine",
		"restore table t":      "table t is there, and is left alone; restore the table under another name",
		"restore table t as u": "this database was not backed up yet; name a place",
	} {
		var out, errs strings.Builder
		code := run([]string{"--addr", s.addr, "-c", statement}, strings.NewReader(""), &out, &errs, noEnv)
		if code != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %q", statement, code, errs.String())
		}
	}
	if out, _ := output(t, "--addr", s.addr, "--format", "csv", "-c", "count t; tables"); !strings.HasPrefix(out, "2\n") || strings.Contains(out, "u") {
		t.Errorf("afterwards: %q", out)
	}
}

// Another process cannot use the address or the database of a running server, and the
// error says what to do instead.
func TestWhatARunningServerHas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "db")
	s := startServer(t, "--db", dir)
	other := filepath.Join(t.TempDir(), "other")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"serve", "--addr", s.addr, "--db", other}, 1, "--addr is " + s.addr + ", where another process listens; name another port"},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--http", s.addr, "--db", other}, 1, "--http is " + s.addr + ", where another process listens"},
		{[]string{"serve", "--addr", "192.0.2.1:0", "--insecure", "--db", other}, 1, "--addr is 192.0.2.1:0, which is no address of this machine; name one that it has"},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--db", dir}, 3, "in use by another process\n"},
		{[]string{"--db", dir, "-c", "tables"}, 3, "--read-only opens it beside that process, and --addr uses it"},
		{[]string{"--db", dir, "backup", other}, 3, "let the server do it: smolwc backup " + other + " --addr 127.0.0.1:8086"},
		{[]string{"--db", dir, "checkpoint", other}, 3, "let the server do it: smolwc checkpoint " + other + " --addr 127.0.0.1:8086"},
		{[]string{"--db", dir, "--read-only", "-c", "backup to '" + other + "'"}, 1, "let the server do it: smolwc backup " + other + " --addr 127.0.0.1:8086"},
		{[]string{"--db", dir, "--read-only", "-c", "checkpoint '" + other + "'"}, 1, "let the server do it: smolwc checkpoint " + other + " --addr 127.0.0.1:8086"},
	} {
		var out, errs strings.Builder
		if code := run(c.args, strings.NewReader(""), &out, &errs, noEnv); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("smolwc %s: exit %d, %q", strings.Join(c.args, " "), code, errs.String())
		}
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a server that could not listen has made a database")
	}
}

// A server backs its database up for commands and for statements, lists and verifies
// backups, and makes checkpoints.
func TestBackupsOverTheNetwork(t *testing.T) {
	t.Parallel()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--durability", "async")
	output(t, "--addr", s.addr, "-c", "create table t family f; put t a f:x=1")
	place := t.TempDir()
	target, copied, restored := filepath.Join(place, "backups"), filepath.Join(place, "copy"), filepath.Join(place, "restored")
	for _, c := range []struct {
		args        []string
		out, people string
	}{
		{[]string{"--addr", s.addr, "backup", target, "--parallel", "2"}, `"backup":1`, "backed up as 1: "},
		{[]string{"backup", target, "--addr", s.addr, "--keep", "2"}, `"backup":2`, "backed up as 2: "},
		{[]string{"--addr", s.addr, "-c", "backup keep=1 rate=50MB"}, `"backup":3`, "pruned 2 backups"},
		{[]string{"--addr", s.addr, "-c", "backups in '" + target + "'"}, `"backup":3`, ""},
		{[]string{"backups", "--addr", s.addr, "--format", "csv"}, "\n3,", ""},
		{[]string{"verify", "--addr", s.addr}, "", "verified 1 backup: "},
		{[]string{"verify", target}, "", "verified 1 backup: "},
		{[]string{"checkpoint", copied, "--addr", s.addr}, "", ""},
		{[]string{"restore", "latest", restored, "--from", target}, "", "restored backup 3 "},
		{[]string{"--db", restored, "-c", "get t a"}, `"key":"a"`, ""},
		{[]string{"--db", copied, "-c", "get t a"}, `"key":"a"`, ""},
	} {
		if out, people := output(t, c.args...); !strings.Contains(out, c.out) || !strings.Contains(people, c.people) {
			t.Errorf("smolwc %s: %q and %q", strings.Join(c.args, " "), out, people)
		}
	}
}

// A server that other machines can reach writes backups only to places that its
// operator allows.
func TestPlacesForBackups(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	s := startServer(t, "--db", filepath.Join(t.TempDir(), "db"), "--backup-to", place)
	output(t, "--addr", s.addr, "backup", filepath.Join(place, "fleet"))
	outside := filepath.Join(t.TempDir(), "x")
	var out, errs strings.Builder
	if code := run([]string{"--addr", s.addr, "backup", outside}, strings.NewReader(""), &out, &errs, noEnv); code != 1 || !strings.Contains(errs.String(), "smolwc serve --backup-to "+outside) {
		t.Errorf("exit %d, %q", code, errs.String())
	}
	for _, c := range []struct {
		addr string
		flag []string
		want archive.Places
	}{
		{"127.0.0.1", nil, archive.Places{archive.AnyPlace}},
		{"10.0.0.1", nil, nil},
		{"127.0.0.1", []string{"/backups"}, archive.Places{"/backups"}},
		{"10.0.0.1", []string{"/backups", "s3://bucket/x"}, archive.Places{"/backups", "s3://bucket/x"}},
	} {
		r := serveRun{backupTo: c.flag}
		if got, err := r.places(&net.TCPAddr{IP: net.ParseIP(c.addr)}); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("on %s with %q: %q, %v", c.addr, c.flag, got, err)
		}
	}
}

func TestFlagsOfAServer(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_ = free.Close()
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--addr", addr, "-c", "tables"}, 3, "the server on " + addr},
		{[]string{"--addr", addr, "--db", "d", "-c", "tables"}, 2, "give one of them"},
		{[]string{"--addr", addr, "--read-only", "-c", "tables"}, 2, "--read-only opens a database here"},
		{[]string{"--addr", addr, "--tls-cert", "c.pem", "-c", "tables"}, 2, "go together"},
		{[]string{"--addr", addr, "--tls-ca", "none.pem", "-c", "tables"}, 2, "--tls-ca: open none.pem"},
		{[]string{"--addr", addr, "--instance", "x", "-c", "tables"}, 2, "not the name of an instance"},
		{[]string{"--token", "x", "-c", "tables"}, 2, "name it with --addr"},
		{[]string{"serve", "--addr", "127.0.0.1:0", "--backup-to", "gs://x", "--db", "d"}, 2, "--backup-to: gs://x is not a target"},
		{[]string{"--addr", addr, "--db", "d", "backup"}, 2, "give one of them"},
		{[]string{"backup", "--token", "x"}, 2, "name it with --addr"},
		{[]string{"backup", "from", "x"}, 2, "backup takes [TARGET], and got 2"},
		{[]string{"serve", "--max-bytes", "1MiB"}, 2, "--max-bytes is 1MiB; it must be 16MiB or more"},
		{[]string{"serve", "--max-connection-bytes", "some"}, 2, "\"some\" is not a size"},
	} {
		var out, errs strings.Builder
		if code := run(c.args, strings.NewReader(""), &out, &errs, noEnv); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("smolwc %s: exit %d, %q", strings.Join(c.args, " "), code, errs.String())
		}
	}
}
