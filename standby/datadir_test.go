package standby

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/smolwc/smolwc/query"
)

// The files of states. A path that ends with a slash is an empty directory.
var (
	wholeCopy = []string{"db.copying/CURRENT new", "db.copying/000009.sst new", "db.copying/SMOLWC new", `db.copying/STANDBY {"primary":"p"}`}
	begunCopy = append(slices.Clone(wholeCopy), `db.copying/COPYING {"primary":"p"}`) // a crash came before COPYING was removed
	partCopy  = []string{"db.copying/000009.sst new", `db.copying/COPYING {"primary":"p"}`}
	before    = []string{"db/CURRENT old", "db/000001.sst old", "db/archive/000002.log old"}
	full      = []string{"db.diverged/CURRENT 1", "db.diverged.2/CURRENT 2", "db.diverged.3/CURRENT 3", "db.diverged.4/CURRENT 4"}
)

// lay makes the files of a state, and returns the place.
func lay(t *testing.T, files ...[]string) dataDir {
	t.Helper()
	base := t.TempDir()
	for _, f := range slices.Concat(files...) {
		path, text, _ := strings.Cut(f, " ")
		dir := filepath.Join(base, filepath.Dir(path))
		if strings.HasSuffix(path, "/") {
			dir = filepath.Join(base, path)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "/") {
			continue
		}
		if err := os.WriteFile(filepath.Join(base, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dataDir{filepath.Join(base, "db")}
}

// tree is all files around a data directory, with their text.
func tree(t *testing.T, p dataDir) map[string]string {
	t.Helper()
	all, base := map[string]string{}, filepath.Dir(p.dir)
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(base, path)
		if d.IsDir() {
			all[name+"/"] = ""
			return nil
		}
		text, err := os.ReadFile(path)
		all[name] = strings.TrimSpace(string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// crash runs fn and ends it at a step; it reports whether fn came to its end before.
func crash(t *testing.T, at int, fn func() error) (ended bool) {
	t.Helper()
	n := 0
	step = func(string) {
		if n++; n == at {
			panic("crash")
		}
	}
	defer func() {
		step = func(string) {}
		if why := recover(); why != nil && why != "crash" {
			panic(why)
		}
	}()
	if err := fn(); err != nil {
		t.Fatal(err)
	}
	return true
}

// An install that is killed at any step is ended by the next start, as if it had not been
// killed. Rows that nobody else may have and files that are not the database's stay.
func TestACrashAtEachStepOfAnInstall(t *testing.T) {
	old := func(role string, more ...string) []string {
		return slices.Concat(before, []string{"db/STANDBY " + role, "db/tokens.json mine", "db/tokens.lock"}, more)
	}
	for name, c := range map[string]struct {
		state []string
		left  string // the directory where the files before are; "" for nowhere
	}{
		"nothing":           {nil, ""},
		"an empty one":      {[]string{"db/"}, ""},
		"tokens":            {[]string{"db/tokens.json mine", "db/tokens.lock"}, ""},
		"a standby":         {old(`{"primary":"p"}`), ""},
		"one with a tail":   {old(`{"primary":"p","keep":true}`), "db.diverged"},
		"a second tail":     {old(`{"primary":"p","keep":true}`, `db.diverged/STANDBY {"primary":"p"}`, "db.diverged/CURRENT first"), ""},
		"an old primary":    {old(`{"primary":"p","adopted":true}`), "db.diverged"},
		"files of others":   {old(`{"primary":"p"}`, "db/notes.txt important"), "db.diverged"},
		"an older replaced": {old(`{"primary":"p"}`, `db.replaced/STANDBY {"primary":"p"}`, "db.replaced/CURRENT older"), ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			want := map[string]string{}
			for at := range 50 {
				p := lay(t, begunCopy, c.state)
				if ended := crash(t, at, p.install); at == 0 { // without a crash
					want = tree(t, p)
					continue
				} else if ended {
					if at == 1 {
						t.Error("no step was reported")
					}
					break
				}
				refusesToLead(t, p, p.dir)
				if is, err := p.recover(); err != nil || is != dirStandby {
					t.Fatalf("after a crash at step %d: %v, %v; there is %v", at, is, err, slices.Sorted(maps.Keys(tree(t, p))))
				}
				got := tree(t, p)
				if strings.HasPrefix(got["db/CURRENT"], "old") { // before its decision: the copy is made again
					if err := p.install(); err != nil {
						t.Fatal(err)
					}
					got = tree(t, p)
				}
				if !maps.Equal(got, want) {
					t.Errorf("after a crash at step %d:\n%v\nwithout one:\n%v", at, got, want)
				}
			}
			if want["db/COPYING"] != "" {
				t.Error("the file COPYING stays")
			}
			if want["db/CURRENT"] != "new" || want["db/000001.sst"] != "" {
				t.Errorf("the copy is not in the place of the database: %v", want)
			}
			if hadTokens := strings.Contains(fmt.Sprint(c.state), "tokens.json"); hadTokens && want["db/tokens.json"] != "mine" {
				t.Error("the tokens are gone")
			}
			for _, f := range []string{"/CURRENT", "/000001.sst", "/archive/000002.log", "/notes.txt"} {
				had := slices.ContainsFunc(c.state, func(file string) bool { return strings.HasPrefix(file, "db"+f) })
				if has := want[c.left+f] != ""; c.left != "" && had != has {
					t.Errorf("%s%s is there: %v; want %v", c.left, f, has, had)
				}
			}
			if strings.Contains(name, "second") && want["db.diverged/CURRENT"] != "first" {
				t.Error("the first tail is gone")
			}
		})
	}
}

// refusesToLead checks that a server without --standby-of makes no empty database where a copy
// was about to be.
func refusesToLead(t *testing.T, p dataDir, dir string) {
	t.Helper()
	was := tree(t, p)
	_, err := query.Open(dir, query.Options{Standbys: NewPrimary(PrimaryOptions{}).Hook()})
	refuses := query.KindOf(err) == query.KindFailedPrecondition && strings.Contains(err.Error(), "has a standby")
	if !query.HasRocksDB && !refuses { // a file named CURRENT that is not Pebble's
		refuses = strings.Contains(fmt.Sprint(err), "is on RocksDB, which this build does not have")
	}
	if !refuses || !maps.Equal(was, tree(t, p)) {
		t.Errorf("a primary: %v; there is %v, and was %v", err, slices.Sorted(maps.Keys(tree(t, p))), slices.Sorted(maps.Keys(was)))
	}
}

// A link to a directory leads nowhere between two steps of an install. The next start ends the
// install there.
func TestACrashOfAnInstallBehindALink(t *testing.T) {
	for _, relative := range []bool{false, true} {
		for at := 1; ; at++ {
			p := lay(t, wholeCopy, before, []string{`db/STANDBY {"primary":"p"}`})
			link, leads := filepath.Join(t.TempDir(), "link"), p.dir
			if relative {
				var err error
				if leads, err = filepath.Rel(filepath.Dir(link), p.dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(leads, link); err != nil {
				t.Fatal(err)
			}
			ended := crash(t, at, p.install)
			found, err := dataDirOf(link)
			if err != nil {
				t.Fatalf("after a crash at step %d: %v", at, err)
			}
			refusesToLead(t, p, link)
			if is, err := found.recover(); err != nil || is != dirStandby || !exists(filepath.Join(link, "CURRENT")) {
				t.Errorf("after a crash at step %d: %v, %v", at, is, err)
			}
			if ended {
				break
			}
		}
	}
}

// What a directory and its neighbours may have when a standby is started, and what recover
// makes of it. Files of others stay where they are, whatever they are called.
func TestStatesOfADataDirectory(t *testing.T) {
	const standby, adopted = `db/STANDBY {"primary":"p"}`, `db/STANDBY {"primary":"p","adopted":true}`
	for name, c := range map[string]struct {
		state   [][]string
		is      content
		changes bool   // recover changes names
		refuses string // what prepareCopy says; "" if it copies
	}{
		"nothing":                     {nil, nothing, false, ""},
		"a part of a copy":            {[][]string{partCopy}, nothing, false, ""},
		"a part beside a standby":     {[][]string{partCopy, before, {standby}}, dirStandby, false, ""},
		"a whole copy":                {[][]string{wholeCopy}, dirStandby, true, ""},
		"a whole copy that was begun": {[][]string{begunCopy}, dirStandby, true, ""},
		"a whole copy and a standby":  {[][]string{wholeCopy, before, {standby}}, dirStandby, false, ""},
		"a database":                  {[][]string{before}, dirForeign, false, "db is in the way"},
		"a database and a copy":       {[][]string{wholeCopy, before}, dirForeign, false, "db is in the way"},
		"files without CURRENT":       {[][]string{{"db/000001.sst old"}}, dirForeign, false, "db is in the way"},
		"a note":                      {[][]string{{"db/notes.txt important"}}, dirForeign, false, "db is in the way"},
		"a note and a whole copy":     {[][]string{wholeCopy, {"db/notes.txt important"}}, dirForeign, false, "db is in the way"},
		"an empty STANDBY":            {[][]string{{"db/STANDBY {}", "db/notes.txt x"}}, dirForeign, false, "db is in the way"},
		"only COPYING":                {[][]string{{`db/COPYING {"primary":"p"}`}}, dirPartialCopy, false, "db is in the way"},
		"another copying":             {[][]string{{"db.copying/notes.txt important"}}, nothing, false, "db.copying is in the way"},
		"another copying with tables": {[][]string{before, {standby, "db.copying/000001.sst mine"}}, dirStandby, false, "db.copying is in the way"},
		"another replaced":            {[][]string{before, {standby, "db.replaced/CURRENT mine"}}, dirStandby, false, "db.replaced is in the way"},
		"another diverged":            {[][]string{before, {standby, "db.diverged/notes.txt mine"}}, dirStandby, false, ""},
		"a second tail":               {[][]string{before, {adopted}, full[1:]}, dirStandby, false, ""},
		"a tail too many":             {[][]string{before, {adopted}, full}, dirStandby, false, "db has to be kept aside, and there are 4 already"},
		"a tail that waits and one":   {[][]string{before, {adopted, `db.replaced/STANDBY {"primary":"p","keep":true}`}, full}, dirStandby, false, "db.replaced has to be kept aside"},
		"no tail":                     {[][]string{before, {standby}, full}, dirStandby, false, ""},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			p := lay(t, c.state...)
			was := tree(t, p)
			is, err := p.recover()
			if err != nil || is != c.is {
				t.Errorf("%v, %v; want %v", is, err, c.is)
			}
			got := tree(t, p)
			if maps.Equal(was, got) == c.changes {
				t.Errorf("recover makes %v of %v", got, was)
			}
			err = p.hold(func() error { return p.prepareCopy(role{Primary: "p"}) })
			if fmt.Sprint(err) != "<nil>" != (c.refuses != "") || !strings.Contains(fmt.Sprint(err), c.refuses) {
				t.Errorf("a copy: %v; want %q", err, c.refuses)
			}
			if c.refuses != "" && !maps.Equal(got, tree(t, p)) {
				t.Errorf("a copy that was refused makes %v of %v", tree(t, p), got)
			}
		})
	}
}

// What has to be kept aside gets the next name. Without one it waits, and nothing is removed,
// until a person has moved a directory away.
func TestWhatHasToBeKept(t *testing.T) {
	for _, replaced := range [][]string{
		{`db.replaced/STANDBY {"primary":"p","adopted":true}`},
		{`db.replaced/STANDBY {"primary":"p","keep":true}`},
		{`db.replaced/STANDBY {"primary":"p"}`, "db.replaced/notes.txt important"},
	} {
		p := lay(t, before, []string{`db/STANDBY {"primary":"p"}`}, full, replaced)
		was := tree(t, p)
		if _, err := p.recover(); err != nil || !maps.Equal(was, tree(t, p)) {
			t.Errorf("%v; %v; before: %v", err, tree(t, p), was)
		}
		err := p.hold(func() error { return p.prepareCopy(role{Primary: "p"}) })
		if !errors.Is(err, ErrNotYet) || !strings.Contains(err.Error(), "db.replaced has to be kept aside") || !maps.Equal(was, tree(t, p)) {
			t.Errorf("a copy: %v; %v", err, tree(t, p))
		}
		if err := os.Rename(p.dir+".diverged.2", p.dir+".moved"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.recover(); err != nil || exists(p.replaced()) || !exists(filepath.Join(p.dir+".diverged.2", "STANDBY")) {
			t.Errorf("%v, %v", err, tree(t, p))
		}
	}
}

// The error for one directory too many names the one that was kept first.
func TestTheOldestThatIsKeptIsNamed(t *testing.T) {
	p := lay(t, before, []string{`db/STANDBY {"primary":"p","adopted":true}`}, full)
	oldest := p.dir + ".diverged.3"
	kept, _ := p.aside()
	for i, dir := range kept {
		at := time.Unix(int64(1000+i), 0)
		if dir == oldest {
			at = time.Unix(10, 0)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	err := p.hold(func() error { return p.prepareCopy(role{Primary: "p"}) })
	if !errors.Is(err, ErrNotYet) || !strings.Contains(err.Error(), "remove the oldest, "+oldest+",") {
		t.Errorf("a copy: %v", err)
	}
	if got := p.oldestAside(); len(got) != 4 || got[0] != oldest {
		t.Errorf("kept: %v", got)
	}
}

// A primary counts the time in which a standby that is behind says nothing.
func TestTheLagOfASilentStandby(t *testing.T) {
	spoke := time.Now()
	r := &replica{applied: 5, lag: time.Second}
	r.heard.Store(spoke.UnixNano())
	for _, c := range []struct {
		latest uint64
		after  time.Duration
		want   time.Duration
	}{
		{5, time.Minute, time.Second},
		{6, beatEvery, time.Second},
		{6, time.Minute, time.Minute + time.Second},
	} {
		if got := r.lagOf(c.latest, spoke.Add(c.after)); got.Round(time.Millisecond) != c.want {
			t.Errorf("%v after its word the lag up to %d is %v; want %v", c.after, c.latest, got, c.want)
		}
	}
}

// A copy has the permissions of the directory, and one process makes it.
func TestOneProcessCopies(t *testing.T) {
	p := lay(t, []string{"db/"})
	if err := os.Chmod(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	err := p.hold(func() error {
		if err := p.hold(func() error { return nil }); err == nil || !strings.Contains(err.Error(), "open in this process") {
			t.Errorf("a second copy: %v", err)
		}
		return p.prepareCopy(role{Primary: "p"})
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.copying()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// A link is followed, so that the data stay where it leads.
func TestALinkToADataDirectory(t *testing.T) {
	p := lay(t, []string{"other/disk/db/"})
	to := filepath.Join(filepath.Dir(p.dir), "other/disk/db")
	if err := os.Symlink(to, p.dir); err != nil {
		t.Fatal(err)
	}
	if got, err := dataDirOf(p.dir); err != nil || got.dir != to && got.dir != "/private"+to {
		t.Errorf("%v, %v; want %s", got, err, to)
	}
	if err := os.Remove(to); err != nil {
		t.Fatal(err)
	}
	if _, err := dataDirOf(p.dir); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a link to nothing: %v", err)
	}
}

// Which directories are roots of file systems differs between machines: in a bare root,
// /dev/shm is a directory like any other. Two are certain everywhere.
func TestTheRootOfAFileSystem(t *testing.T) {
	if err := (dataDir{"/"}).movable(); err == nil || !strings.Contains(err.Error(), "root of a file system") {
		t.Errorf("/: %v", err)
	}
	if err := (dataDir{t.TempDir()}).movable(); err != nil {
		t.Errorf("a new directory: %v", err)
	}
	mounts, _ := os.ReadFile("/proc/self/mounts") // none on systems without it
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) < 3 || f[1] != "/proc" || f[2] != "proc" {
			continue
		}
		if err := (dataDir{"/proc"}).movable(); err == nil || !strings.Contains(err.Error(), "root of a file system") {
			t.Errorf("/proc: %v", err)
		}
	}
}
