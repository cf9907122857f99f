package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query/plumbing"
)

// A dataDir is the directory of a standby, and its neighbours while it is rebuilt:
//
//	DIR           the database
//	DIR.copying   a copy: with the file COPYING it is not whole, with STANDBY it is
//	DIR.replaced  the old database, until the copy takes its name
//	DIR.diverged  a database before that may have rows that the primary does not have;
//	              the next ones are DIR.diverged.2 and so on
//
// So DIR never mixes files of two copies, and the old files stay until the new ones are
// whole. Only directories with one of these two files are changed or removed, and names are
// given by renaming, which replaces no directory with files.
type dataDir struct{ dir string }

func (p dataDir) copying() string  { return p.dir + plumbing.CopyingSuffix }
func (p dataDir) replaced() string { return p.dir + ".replaced" }

// maxKept is how many databases before are kept aside. One more waits, and keeps its
// standby from being copied, until a person has looked at them.
const maxKept = 4

// aside are the names of the databases that are kept aside, and those that are free for more.
func (p dataDir) aside() (kept, free []string) {
	for n := 1; n <= maxKept; n++ {
		dir := p.dir + ".diverged"
		if n > 1 {
			dir += fmt.Sprint(".", n)
		}
		if exists(dir) {
			kept = append(kept, dir)
		} else {
			free = append(free, dir)
		}
	}
	return kept, free
}

// oldestAside are the directories that are kept aside, the one that was first.
func (p dataDir) oldestAside() []string {
	kept, _ := p.aside()
	since := map[string]time.Time{}
	for _, dir := range kept {
		for _, name := range []string{divergedFile, plumbing.StandbyFile, ""} { // the files are not written again
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				since[dir] = info.ModTime()
				break
			}
		}
	}
	slices.SortStableFunc(kept, func(a, b string) int { return since[a].Compare(since[b]) })
	return kept
}

// errFull says that a database must be kept aside but all names for it are taken.
func (p dataDir) errFull(dir string) error {
	kept := p.oldestAside()
	return notYet{fmt.Errorf("%s has to be kept aside, and there are %d already: %s; look which rows only they have (smolwc tail show), and remove the oldest, %s, or move it elsewhere", dir, len(kept), strings.Join(kept, ", "), kept[0])}
}

// mustKeep reports whether a directory is a standby's whose files have to be kept aside.
func mustKeep(dir string) (bool, error) {
	var r role
	if is, err := readFile(dir, plumbing.StandbyFile, &r); err != nil || !is {
		return false, err
	}
	names, err := os.ReadDir(dir)
	return r.Keep || r.WasPrimary || r.Differs != "" || slices.ContainsFunc(names, func(e os.DirEntry) bool { return !isOwn(e.Name()) }), err
}

// dataDirOf follows symbolic links: the neighbours of a directory are in the same file system.
func dataDirOf(dir string) (dataDir, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dataDir{}, err
	}
	to, err := filepath.EvalSymlinks(dir)
	switch {
	case err == nil:
		return dataDir{to}, nil
	case errors.Is(err, fs.ErrNotExist) && exists(dir):
		if to, err := osfile.Leads(dir); err == nil {
			p := dataDir{to}
			if is, err := look(p.copying()); err == nil && is == dirStandby { // a crash interrupted an install
				return p, nil
			}
		}
		return dataDir{}, fmt.Errorf("%s is a link to a directory that does not exist; create it", dir)
	case errors.Is(err, fs.ErrNotExist):
		return dataDir{dir}, nil
	}
	return dataDir{}, err
}

// A content is the kind of a directory's files.
type content int

const (
	nothing        content = iota // missing, or only tokens
	dirStandby                    // the file STANDBY
	dirPartialCopy                // the file COPYING
	dirForeign                    // files that are no standby's
)

// copyingFile is the name of the file in a directory with a copy that is not whole.
const copyingFile = "COPYING"

// tokenFiles stay in a directory whose database is replaced: they are not the database's.
var tokenFiles = []string{"tokens.json", "tokens.lock"}

// look returns the content of a directory.
func look(dir string) (content, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) && !exists(dir) {
		return nothing, nil
	}
	if err != nil {
		return nothing, err
	}
	for _, mark := range []struct {
		file string
		content
	}{{plumbing.StandbyFile, dirStandby}, {copyingFile, dirPartialCopy}} {
		var r role
		if ok, err := readFile(dir, mark.file, &r); err != nil || ok && r.Primary != "" {
			return mark.content, err
		}
	}
	for _, e := range names {
		if name := e.Name(); !slices.Contains(tokenFiles, name) && name != copyingFile+".tmp" {
			return dirForeign, nil
		}
	}
	return nothing, nil
}

// ownNames are the names of files and directories in the directory of a database.
var ownNames = []string{
	"CURRENT", "IDENTITY", "LOCK", "LOG", "LOG.*", "MANIFEST-*", "OPTIONS-*", "*.sst", "*.blob", "*.log", "*.dbtmp", "marker.*",
	markerFile, "SYNCED", "archive", "bulk", "strays", copyDir, "restoring", spoolDir, spoolLeftDir, "checkpoint.tmp", "checkpoint-*", "tokens.*",
	plumbing.StandbyFile, plumbing.FencedFile, plumbing.PromotedFile, copyingFile, divergedFile, pendingFencePrefix + "*",
}

// isOwn reports whether a name in the directory of a database is one of the database's.
func isOwn(name string) bool {
	return slices.ContainsFunc(ownNames, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, strings.TrimSuffix(name, ".tmp"))
		also, _ := filepath.Match(pattern, name)
		return ok || also
	})
}

// recover completes renames that a crash interrupted, and returns the content of DIR.
func (p dataDir) recover() (content, error) {
	is, err := look(p.dir)
	if err != nil {
		return is, err
	}
	if is == nothing {
		if whole, err := look(p.copying()); err != nil || whole != dirStandby {
			return is, err
		}
		if err := p.hold(p.install); err != nil {
			return is, err
		}
		return dirStandby, nil
	}
	if is == dirStandby {
		return is, p.settle()
	}
	return is, nil
}

// refusal is the error for a directory with files that are no standby's.
func (p dataDir) refusal() error {
	names, err := os.ReadDir(p.dir)
	for _, e := range names {
		if !slices.Contains(tokenFiles, e.Name()) {
			return fmt.Errorf("the directory has files that are no standby's, such as %s; name another directory, or an empty one", e.Name())
		}
	}
	return err
}

// inTheWay is the error for a neighbour that is no standby's.
func inTheWay(dir, why string) error {
	return fmt.Errorf("%s is in the way: %s; move it elsewhere", dir, why)
}

// settle ends an install: the database before is removed, or kept aside. It stays where it
// is while there is no name for it.
func (p dataDir) settle() error {
	is, err := look(p.replaced())
	if err == nil && is == nothing {
		_ = os.Remove(p.replaced()) // what a crash left of it
	}
	if err != nil || is != dirStandby {
		return err
	}
	stays, err := mustKeep(p.replaced())
	switch _, free := p.aside(); {
	case err != nil:
		return err
	case !stays:
		return removeCopy(p.replaced())
	case len(free) > 0:
		return rename(p.replaced(), free[0])
	}
	return nil
}

// removeCopy removes the directory of a standby. The file that says so goes last.
func removeCopy(dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if e.Name() == plumbing.StandbyFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
		step("removing")
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	if err := removeFile(dir, plumbing.StandbyFile); err != nil {
		return err
	}
	step("removing")
	if err := os.Remove(dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(dir))
}

// rename renames a directory. It replaces no directory with files.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// install gives a whole copy the name of the database. The caller holds the place.
func (p dataDir) install() error {
	if err := p.settle(); err != nil {
		return err
	}
	is, err := look(p.dir)
	if err != nil {
		return err
	}
	if err := p.carry(); err != nil {
		return err
	}
	step("tokens")
	if err := removeFile(p.copying(), copyingFile); err != nil { // a crash may have left it beside STANDBY
		return err
	}
	step("not a part")
	switch is {
	case nothing:
		err = p.removeEmpty()
	case dirStandby:
		err = rename(p.dir, p.replaced())
	default:
		err = inTheWay(p.dir, "it has files that are no standby's")
	}
	if err != nil {
		return err
	}
	step("moved away")
	if err := rename(p.copying(), p.dir); err != nil {
		return err
	}
	step("moved in")
	return p.settle()
}

// carry copies what is not part of the old database: its tokens, and its pending fences.
func (p dataDir) carry() error {
	names, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range names {
		if e.Name() != tokenFiles[0] && !isPendingFence(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.dir, e.Name()))
		if err == nil {
			err = writeWhole(p.copying(), e.Name(), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// removeEmpty removes a directory with nothing but tokens, which were carried to the
// copy.
func (p dataDir) removeEmpty() error {
	if !exists(p.dir) {
		return nil
	}
	for _, name := range append(tokenFiles, copyingFile+".tmp") {
		if err := removeFile(p.dir, name); err != nil {
			return err
		}
		step("emptied")
	}
	return os.Remove(p.dir) // fails if a file was made there meanwhile
}

// hold runs fn while no other process uses the directory. It creates the directory.
func (p dataDir) hold(fn func() error) error {
	made := !exists(p.dir)
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	c, err := claim.Take(p.dir)
	switch {
	case errors.Is(err, claim.ErrHere), errors.Is(err, claim.ErrElsewhere):
		return fmt.Errorf("the directory is %w: %w", err, cf.ErrBusy)
	case err != nil:
		return err
	}
	defer c.Release()
	if !c.Holds(p.dir) {
		return fmt.Errorf("another process has replaced the directory: %w", cf.ErrBusy)
	}
	if err = fn(); err != nil && made {
		_ = os.Remove(p.dir) // fails if it contains files
	}
	return err
}

// prepareCopy makes the directory for a copy, and keeps what an earlier try left there. It
// fails before anything is copied if the copy could not get its name.
func (p dataDir) prepareCopy(of role) error {
	if err := p.movable(); err != nil {
		return err
	}
	if err := p.free(); err != nil {
		return err
	}
	mode, err := modeOf(p.dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.copying(), mode); err != nil {
		return fmt.Errorf("a copy is made beside the directory, so the directory above must be writable; name a directory in it, such as %s: %w", filepath.Join(p.dir, "db"), err)
	}
	if err := errors.Join(os.Chmod(p.copying(), mode), syncDir(filepath.Dir(p.dir))); err != nil {
		return err
	}
	if err := writeFile(p.copying(), copyingFile, of); err != nil {
		return err
	}
	if err := removeFile(p.copying(), plumbing.StandbyFile); err != nil { // of a copy that is out of date
		return err
	}
	return p.reuse()
}

// reuse gives a copy the table files of the database before: the primary sends only those that
// it does not have in common. They have two names then, and nobody changes them.
func (p dataDir) reuse() error {
	names, err := os.ReadDir(p.dir)
	for _, e := range names {
		if isTable(e.Name()) {
			// It may be there from an earlier try. Without links the copy begins from nothing.
			_ = os.Link(filepath.Join(p.dir, e.Name()), filepath.Join(p.copying(), e.Name()))
		}
	}
	return err
}

// isTable reports whether a file contains cells and is never changed.
func isTable(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".sst" || ext == ".blob"
}

// free refuses neighbours that are no standby's, and a database that cannot be kept
// aside.
func (p dataDir) free() error {
	const foreign = "it has files that are no standby's"
	if is, err := look(p.dir); err != nil || is == dirForeign || is == dirPartialCopy {
		return cmp.Or(err, inTheWay(p.dir, foreign))
	}
	for _, dir := range []string{p.copying(), p.replaced()} {
		if is, err := look(dir); err != nil || is == dirForeign || is == dirPartialCopy && dir != p.copying() {
			return cmp.Or(err, inTheWay(dir, foreign))
		}
	}
	_, names := p.aside()
	for _, dir := range []string{p.replaced(), p.dir} {
		stays, err := mustKeep(dir)
		switch {
		case err != nil:
			return err
		case stays && len(names) == 0:
			return p.errFull(dir)
		case stays:
			names = names[1:]
		}
	}
	return nil
}

// movable finds out whether the directory can be renamed.
func (p dataDir) movable() error {
	above := filepath.Dir(p.dir)
	dir, err := os.Stat(p.dir)
	if err != nil {
		return err
	}
	parent, err := os.Stat(above)
	if err != nil {
		return err
	}
	device, _ := osfile.ID(dir)
	if other, _ := osfile.ID(parent); device != other || above == p.dir {
		return fmt.Errorf("the directory is the root of a file system, so that no copy can take its place; use a directory in it, such as %s", filepath.Join(p.dir, "db"))
	}
	return nil
}

// modeOf are the permissions of a directory, which a copy gets too.
func modeOf(dir string) (os.FileMode, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// recopy makes a copy, of the primary or from the archive, and puts it in the place of the database.
func (s *Standby) recopy(ctx context.Context, archive bool) error {
	return s.dir.hold(func() error {
		of := role{Primary: s.o.Primary}
		if err := s.dir.prepareCopy(of); err != nil {
			return err
		}
		if err := s.makeCopy(ctx, archive && s.o.Archive != nil); err != nil {
			s.dir.dropEmpty()
			return err
		}
		dir := s.dir.copying()
		if err := writeFile(dir, plumbing.StandbyFile, of); err != nil {
			return err
		}
		step("whole")
		return s.dir.install()
	})
}

// dropEmpty removes the directory of a copy that did not begin.
func (p dataDir) dropEmpty() {
	if names, err := os.ReadDir(p.copying()); err == nil && len(names) == 1 && names[0].Name() == copyingFile {
		_ = os.RemoveAll(p.copying()) // the next copy uses it otherwise
	}
}

// makeCopy makes a copy in the directory for copies.
func (s *Standby) makeCopy(ctx context.Context, archive bool) error {
	if archive {
		err := s.copyFromArchive(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		s.logger.Error("the standby cannot begin from the archive", "error", err)
	}
	s.logger.Info("copying the primary", "primary", s.o.Primary, "dir", s.dir.dir)
	if err := receiveCopy(ctx, s.link, s.dir.copying(), s.identity.uuid, engines(s.o.Database.Engine), s.logger); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("copying %s: %w", s.o.Primary, context.Cause(ctx))
		}
		failed := fmt.Errorf("copying %s: %w", s.o.Primary, s.link.explain(err))
		if status.Code(err) == codes.Unavailable {
			return notYet{failed}
		}
		return failed
	}
	store, err := openStore(s.dir.copying(), s.o.Database, true)
	if err != nil {
		return err
	}
	id, err := identify(ctx, store)
	if err == nil {
		err = store.Ship(id.history.ID, s.logBytes())
	}
	return errors.Join(err, store.Close())
}

const (
	archiveBase = "base" // in the directory of a copy
	// trimArchived is how much of the log is read from an archive before what is kept of it is trimmed.
	trimArchived = 64 << 20
)

// copyFromArchive makes a copy of the newest moment in the archive, or of the one at which a standby with a delay is. The
// primary's log leads on.
func (s *Standby) copyFromArchive(ctx context.Context) (err error) {
	of, err := s.link.archived(ctx)
	if err != nil {
		return err
	}
	var at time.Time
	if s.o.Delay > 0 {
		at = s.wall().Add(-s.o.Delay)
	}
	dir := s.dir.copying()
	if err := emptyCopy(dir); err != nil {
		return err
	}
	if err := s.o.Archive.Base(ctx, of, at, filepath.Join(dir, archiveBase)); err != nil {
		return err
	}
	if err := moveUp(dir, archiveBase); err != nil {
		return err
	}
	step("base")
	store, err := openStore(dir, s.o.Database, true)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, store.Close()) }()
	id, err := identify(ctx, store)
	if err != nil {
		return err
	}
	if id.uuid != of.Database || id.history.ID != of.History {
		return fmt.Errorf("%w: the backup in the archive is of another database", cf.ErrCorrupt)
	}
	if err := store.Ship(id.history.ID, s.logBytes()); err != nil {
		return err
	}
	untrimmed := 0
	err = s.o.Archive.Log(ctx, of, uint64(store.Latest()), at, func(r *cf.LogRecord, l Loads) error {
		need, err := store.Prepare(ctx, r)
		if err == nil && len(need.Files) > 0 {
			if err = os.MkdirAll(need.Dir, 0o755); err == nil {
				err = l(ctx, need.Load, need.Dir)
			}
		}
		if err == nil {
			err = store.Apply(ctx, r)
		}
		if untrimmed += len(r.Data); err == nil && untrimmed >= trimArchived {
			untrimmed, err = 0, store.TrimLog()
		}
		return err
	})
	if err == nil {
		_, err = store.SyncLog(ctx)
	}
	if err == nil {
		s.logger.Info("the standby begins from the archive", "position", uint64(store.Latest()))
	}
	return err
}

// emptyCopy removes the files of an earlier try.
func emptyCopy(dir string) error {
	names, err := os.ReadDir(dir)
	for _, e := range names {
		if e.Name() != copyingFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// moveUp moves the files of a directory to the one above. The new names are on the disk then.
func moveUp(dir, below string) error {
	from := filepath.Join(dir, below)
	names, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range names {
		if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(from), syncDir(dir))
}
