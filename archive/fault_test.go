package archive

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// TestMain keeps files in memory if possible, since the tests sync often.
func TestMain(m *testing.M) {
	if f, err := os.CreateTemp("/dev/shm", "smolwc-probe-"); err == nil { // it may belong to root
		if err := errors.Join(f.Close(), os.Remove(f.Name()), os.Setenv("TMPDIR", "/dev/shm")); err != nil {
			panic(err)
		}
	}
	if job := os.Getenv(beChild); job != "" {
		args := strings.Split(job, "\n")
		if err := child(args[0], args[1], args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	if err := useTestKeys(); err != nil {
		panic(err)
	}
	retryPause = 20 * time.Millisecond
	goleak.VerifyTestMain(m)
}

// The access keys of the servers that tests run against.
const (
	TestAccess = "smolwctest"
	TestSecret = "smolwcsecret"
)

// useTestKeys makes the environment of the process have only the access keys of
// gateways.
func useTestKeys() error {
	var err error
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID":           TestAccess,
		"AWS_SECRET_ACCESS_KEY":       TestSecret,
		"AWS_CONFIG_FILE":             "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
		"AWS_EC2_METADATA_DISABLED":   "true",
	} {
		err = errors.Join(err, os.Setenv(name, value))
	}
	return err
}

func openTestDB(t testing.TB, dir string) *query.DB {
	t.Helper()
	db, err := query.Open(dir, query.Options{GCInterval: -1, Durability: query.DurabilityAsync, Schema: &schema.Schema{Tables: []schema.Table{
		{Name: "t", Families: []schema.Family{{Name: "f"}, {Name: "sum", Aggregate: schema.AggregateSum}, {Name: "big", Tuning: schema.Tuning{BlobMinSize: 1 << 10}}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// writeRows writes n rows, different ones in each round.
func writeRows(t testing.TB, db *query.DB, round, n int) {
	t.Helper()
	for i := range n {
		m := write.NewMutation()
		m.Set("f", "q", cells.String(fmt.Sprint("value ", round, " ", i)))
		m.Add("sum", "", cells.I64(1))
		if i%5 == 0 { // into a blob file
			m.Set("big", "q", cells.String(strings.Repeat(fmt.Sprint("value ", round, " ", i), 300)))
		}
		if err := db.Table("t").Apply(context.Background(), fmt.Sprint("row", i), m); err != nil {
			t.Fatal(err)
		}
	}
}

func contentOf(t testing.TB, dir string) string {
	t.Helper()
	db, err := query.Open(dir, query.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return visible(t, db)
}

func visible(t testing.TB, db *query.DB) string {
	t.Helper()
	var b strings.Builder
	for row, err := range db.Table("t").ReadRows(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		for c := range row.Cells() {
			fmt.Fprintln(&b, row.Key(), c)
		}
	}
	return b.String()
}

func archiveIn(dir string) *Archive { return &Archive{target: dir, bucket: &dirBucket{dir: dir}} }

// A failing bucket fails the n-th operation that changes it, and all later operations,
// as if the process had died.
type failing struct {
	bucket
	mu   sync.Mutex
	left int
	did  []string
}

var errDied = errors.New("died")

func (f *failing) step(what string, do func() error) error {
	f.mu.Lock()
	f.left--
	died := f.left < 0
	f.mu.Unlock()
	if died {
		return errDied
	}
	err := do()
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.did = append(f.did, what)
	}
	return err
}

func (f *failing) put(ctx context.Context, key string, c content) error {
	return f.step("put "+key, func() error { return f.bucket.put(ctx, key, c) })
}

func (f *failing) create(ctx context.Context, key string, value []byte) error {
	return f.step("create "+key, func() error { return f.bucket.create(ctx, key, value) })
}

func (f *failing) remove(ctx context.Context, key string) error {
	return f.step("remove "+key, func() error { return f.bucket.remove(ctx, key) })
}

// TestInterruptedAnywhere interrupts a backup that prunes at each of its steps: all
// listed generations are whole, the next backup succeeds, sends nothing twice, and
// leaves no objects that no generation needs.
func TestInterruptedAnywhere(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := openTestDB(t, filepath.Join(dir, "db"))
	for step := 0; ; step++ {
		target := filepath.Join(dir, fmt.Sprint("backups", step))
		a := archiveIn(target)
		for round := range 2 {
			writeRows(t, db, round, 20)
			if _, err := a.Backup(ctx, db, BackupOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		writeRows(t, db, step+2, 20)
		f := &failing{bucket: a.bucket, left: step}
		_, err := (&Archive{target: target, bucket: f}).Backup(ctx, db, BackupOptions{Keep: 2})
		if err == nil {
			if step < 6 {
				t.Errorf("the backup took %d steps only: %v", step, f.did)
			}
			return
		}
		if !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		created := slices.Contains(f.did, "create "+manifestKey(3))
		list, err := a.List(ctx)
		if err != nil || len(list) == 0 || (list[len(list)-1].ID == 3) != created {
			t.Fatalf("after %v: list %+v, %v", f.did, list, err)
		}
		if report, err := a.Verify(ctx, Options{}); err != nil {
			t.Fatalf("after %v: %+v, %v", f.did, report, err)
		}
		g := &failing{bucket: a.bucket, left: 1 << 30}
		if _, err := (&Archive{target: target, bucket: g}).Backup(ctx, db, BackupOptions{Keep: 2}); err != nil {
			t.Fatalf("after %v: %v", f.did, err)
		}
		if report, err := a.Verify(ctx, Options{}); err != nil || report.Unused != 0 || report.Generations != 2 {
			t.Fatalf("after %v and %v: %+v, %v", f.did, g.did, report, err)
		}
		for _, did := range g.did {
			if strings.HasPrefix(did, "put") && slices.Contains(f.did, did) {
				t.Errorf("%s was done twice", did)
			}
		}
		to := filepath.Join(dir, fmt.Sprint("restored", step))
		if _, err := a.Restore(ctx, Latest, to, RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		if contentOf(t, to) != visible(t, db) {
			t.Errorf("after %v: another content was restored", f.did)
		}
	}
}

func bytesOf(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestCancelledRestoreLeavesNothing, and not what looks like a database.
func TestCancelledRestoreLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	db := openTestDB(t, filepath.Join(dir, "db"))
	a := archiveIn(filepath.Join(dir, "backups"))
	m := write.NewMutation()
	m.Set("f", "q", cells.Bytes(bytesOf(rand.New(rand.NewPCG(1, 2)), 4*lineBurst))) // larger than lineBurst
	if err := db.Table("t").Apply(t.Context(), "row", m); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Backup(t.Context(), db, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	to := filepath.Join(dir, "restored")
	_, err := a.Restore(ctx, 1, to, RestoreOptions{Options: Options{Rate: 1}})
	if query.KindOf(err) != query.KindCanceled || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), "restor") {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func TestOneBackupAtATime(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := openTestDB(t, filepath.Join(dir, "db"))
	a := archiveIn(filepath.Join(dir, "backups"))
	_, unlock, err := a.bucket.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Backup(ctx, db, BackupOptions{}); !errors.Is(err, ErrLocked) || query.KindOf(err) != query.KindBusy {
		t.Errorf("beside another: %v", err)
	}
	if _, err := a.Prune(ctx, 1); !errors.Is(err, ErrLocked) {
		t.Errorf("pruning beside another: %v", err)
	}
	unlock()
	if _, err := a.Backup(ctx, db, BackupOptions{}); err != nil {
		t.Error(err)
	}
}

var damageRounds = flag.Int("damage", 150, "bytes that TestEveryDamagedByteIsFound damages")

// TestEveryDamagedByteIsFound flips single bytes, cuts files and removes them, anywhere
// in an archive: verify names the damaged files, and no restore of a generation that
// needs them succeeds.
func TestEveryDamagedByteIsFound(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	db := openTestDB(t, filepath.Join(dir, "db"))
	a := archiveIn(filepath.Join(dir, "backups"))
	want := map[int]string{}
	for g := 1; g <= 3; g++ {
		writeRows(t, db, g, 100)
		if _, err := a.Backup(ctx, db, BackupOptions{}); err != nil {
			t.Fatal(err)
		}
		want[g] = visible(t, db)
	}
	keys := map[string]int64{}
	for _, prefix := range []string{objectsPrefix, generationsPrefix} {
		found, err := a.bucket.list(ctx, prefix)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(keys, found)
	}
	sorted := slices.Sorted(maps.Keys(keys))
	for round := range *damageRounds {
		key := sorted[r.IntN(len(sorted))]
		path := filepath.Join(dir, "backups", filepath.FromSlash(key))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		what := damage(t, path, good, r)
		report, err := a.Verify(ctx, Options{})
		if len(report.Damage) == 0 || !errors.Is(err, ErrDamaged) || query.KindOf(err) != query.KindCorruption {
			if _, missing := a.bucket.(*dirBucket).open(ctx, key); !errors.Is(missing, errNoObject) || !strings.HasPrefix(key, generationsPrefix) {
				t.Fatalf("%s, %s: verify found nothing: %+v, %v", key, what, report, err)
			}
		}
		for _, d := range report.Damage {
			if d.Object != key {
				t.Fatalf("%s, %s: verify names %s", key, what, d.Object)
			}
		}
		if round%10 == 0 {
			for g := 1; g <= 3; g++ {
				needs := slices.ContainsFunc(report.Damage, func(d *DamageError) bool { return d.Generation == g })
				expectRestore(t, a, g, filepath.Join(dir, "restored"), key+", "+what, needs, want[g])
			}
		}
		if err := os.WriteFile(path, good, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Verify(ctx, Options{}); err != nil {
		t.Fatal(err)
	}
}

func damage(t *testing.T, path string, good []byte, r *rand.Rand) (what string) {
	t.Helper()
	bad, how := slices.Clone(good), r.IntN(20)
	if len(bad) == 0 && how != 0 { // the markers of Pebble are empty files
		how = 2
	}
	switch how {
	case 0:
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return "removed"
	case 1:
		bad, what = bad[:r.IntN(len(bad))], "cut"
	case 2:
		bad, what = append(bad, byte(r.Uint32())), "a byte more"
	default:
		at, bits := r.IntN(len(bad)), byte(1+r.IntN(255))
		bad[at] ^= bits
		what = fmt.Sprintf("byte %d ^ %02x", at, bits)
	}
	if err := os.WriteFile(path, bad, 0o644); err != nil {
		t.Fatal(err)
	}
	return what
}

func expectRestore(t *testing.T, a *Archive, g int, to, what string, damaged bool, want string) {
	t.Helper()
	_, err := a.Restore(t.Context(), g, to, RestoreOptions{})
	if errors.Is(err, ErrNoGeneration) {
		return // its manifest was removed
	}
	if damaged {
		if !errors.Is(err, ErrDamaged) {
			t.Fatalf("%s: restoring %d: %v", what, g, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: restoring %d left %s", what, g, to)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: restoring %d, which does not need it: %v", what, g, err)
	}
	if contentOf(t, to) != want {
		t.Fatalf("%s: restoring %d gave another content", what, g)
	}
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
}

// TestPruneKeepsWhatADamagedManifestMayNeed.
func TestPruneKeepsWhatADamagedManifestMayNeed(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := openTestDB(t, filepath.Join(dir, "db"))
	a := archiveIn(filepath.Join(dir, "backups"))
	for g := 1; g <= 3; g++ {
		writeRows(t, db, g, 10)
		if _, err := a.Backup(ctx, db, BackupOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "backups", filepath.FromSlash(manifestKey(2)))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, good[:len(good)-1], 0o644); err != nil {
		t.Fatal(err)
	}
	res, err := a.Prune(ctx, 1)
	if !errors.Is(err, ErrDamaged) || res.Objects != 0 {
		t.Errorf("pruned %+v, %v", res, err)
	}
	list, err := a.List(ctx)
	if err != nil || len(list) != 2 || list[0].Damaged == "" || list[1].Damaged != "" {
		t.Errorf("list %+v, %v", list, err)
	}
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Restore(ctx, 2, filepath.Join(dir, "restored"), RestoreOptions{}); err != nil {
		t.Error(err)
	}
	if res, err := a.Prune(ctx, 1); err != nil || res.Generations != 1 || res.Objects == 0 {
		t.Errorf("pruned %+v, %v", res, err)
	}
	if report, err := a.Verify(ctx, Options{}); err != nil || report.Unused != 0 || report.Generations != 1 {
		t.Errorf("verify %+v, %v", report, err)
	}
}

// FuzzManifest: a text that decodes is one that encode writes, and names files of one
// directory.
func FuzzManifest(f *testing.F) {
	m := &manifest{Format: 1, Generation: 1, Files: []file{{Name: currentFile, Size: 3}, {Name: "000001.sst", Tail: new(Sum)}}}
	text, err := m.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(manifestHead + strings.Repeat("0", 64) + manifestMiddle + "{}" + manifestTail))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := decodeManifest(text)
		if err != nil {
			return
		}
		for _, f := range m.Files {
			if filepath.Dir(filepath.Join("/dir", f.Name)) != "/dir" {
				t.Errorf("file %q is not in the directory", f.Name)
			}
		}
	})
}

// TestManifestsOfOthers: a text with a correct checksum can still be refused.
func TestManifestsOfOthers(t *testing.T) {
	for want, m := range map[string]*manifest{
		"newer smolwc":                     {Format: formatVersion + 1, Generation: 1},
		"count from 1":                     {Format: 1},
		"is not the name of a file":        {Format: 1, Generation: 1, Files: []file{{Name: "../x"}}},
		"is listed twice":                  {Format: 1, Generation: 1, Files: []file{{Name: "x"}, {Name: "x"}}},
		"lists no file CURRENT":            {Format: 1, Generation: 1, Files: []file{{Name: "x"}}},
		"has size -1":                      {Format: 1, Generation: 1, Files: []file{{Name: "x", Size: -1}}},
		`"a/b" is not the name of a file`:  {Format: 1, Generation: 1, Files: []file{{Name: "a/b"}}},
		`"a\\b" is not the name of a file`: {Format: 1, Generation: 1, Files: []file{{Name: `a\b`}}},
	} {
		text, err := m.encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeManifest(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", m, err, want)
		}
	}
}
