package standby

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/osfile"
	"github.com/smolwc/smolwc/query"
)

// errDamaged is the error for bytes that are not what was sent.
var errDamaged = fmt.Errorf("%w: on the way from the primary", cf.ErrCorrupt)

// A receiver receives files.
type receiver struct {
	dir    string
	logger *slog.Logger
	file   *os.File
	said   *smolwcpb.CopiedFile
	got    int64 // bytes of the file
	done   int64 // bytes of all files
	had    int64 // of these, bytes that were not sent, since they are there
	total  int64
	told   time.Time
	names  map[string]bool

	syncing sync.WaitGroup // of a file that was received, while the next one comes
	synced  error          // read after syncing
}

// receiveCopy copies the primary's database to a directory; "" is any database. Files left by an
// earlier try are not sent again. The primary must be on one of the engines.
func receiveCopy(ctx context.Context, l *link, dir, database string, engines []string, logger *slog.Logger) error {
	left, err := leftFiles(dir)
	if err != nil {
		return err
	}
	return receiveFiles(ctx, func(ctx context.Context) (fileStream, error) {
		return l.Copy(l.context(ctx), &smolwcpb.CopyRequest{Have: left, Format: query.FormatVersion, Database: database, Engines: engines})
	}, dir, logger)
}

// archived asks the primary what its database is.
func (l *link) archived(ctx context.Context) (of Archived, err error) {
	ctx, cancel := context.WithTimeout(ctx, fileSilence)
	defer cancel()
	is, err := l.ListReplicas(l.context(ctx), new(smolwcpb.ListReplicasRequest))
	if err != nil {
		return of, l.explain(err)
	}
	return Archived{is.GetDatabase(), is.GetHistory(), is.GetEpoch()}, nil
}

// leftFiles are the table files of an unfinished copy. All others are removed, but the file
// that says what the directory is: they may be of another moment.
func leftFiles(dir string) (left []*smolwcpb.CopiedFile, err error) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		if e.Name() == copyingFile {
			continue
		}
		if !isTable(e.Name()) {
			if err := os.RemoveAll(path); err != nil {
				return nil, err
			}
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err == nil {
			var sum uint32
			sum, err = crcOf(f)
			left = append(left, &smolwcpb.CopiedFile{Name: e.Name(), Size: info.Size(), Crc: sum})
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// A fileStream is the stream of Copy and of Load.
type fileStream interface {
	Recv() (*smolwcpb.CopyResponse, error)
}

// fileSilence is how long the primary may say nothing between two messages with files. Bytes
// that have changed on the way can leave a connection that lives, and on which nothing comes.
// The first message takes as long as a checkpoint.
var fileSilence = time.Minute

// receiveFiles receives files into a directory, and removes all others from it. All are on
// the disk when it returns.
func receiveFiles(ctx context.Context, open func(context.Context) (fileStream, error), dir string, logger *slog.Logger) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stream, err := open(ctx)
	if err != nil {
		return err
	}
	t := &receiver{dir: dir, logger: logger, names: map[string]bool{}, told: time.Now()}
	defer func() {
		t.syncing.Wait()
		if t.file != nil {
			err = errors.Join(err, t.file.Close())
		}
	}()
	for began := false; ; began = true {
		m, err := recvWithin(stream, began, cancel)
		if why := context.Cause(ctx); errors.Is(why, errSilentFiles) {
			err = why
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: the copy has no end", errDamaged)
		}
		if err != nil {
			return err
		}
		t.total = max(t.total, m.GetTotalBytes())
		switch {
		case m.GetEnd():
			return t.end()
		case m.GetFile() != nil:
			if err = intact(m.GetCrcOfFile(), crcOfFile(m)); err == nil {
				err = t.begin(m.GetFile(), m.GetHave())
			}
		case len(m.GetContent()) > 0:
			err = t.write(m.GetContent(), m.GetCrc())
		}
		if err != nil {
			return err
		}
	}
}

var errSilentFiles = status.Error(codes.Unavailable, "the primary sends no more of the files")

// recvWithin is the next message. It cancels the stream if that does not come.
func recvWithin(stream fileStream, bounded bool, cancel context.CancelCauseFunc) (*smolwcpb.CopyResponse, error) {
	if bounded {
		defer time.AfterFunc(fileSilence, func() { cancel(errSilentFiles) }).Stop()
	}
	return stream.Recv()
}

func (t *receiver) begin(f *smolwcpb.CopiedFile, have bool) error {
	if err := t.finish(); err != nil {
		return err
	}
	if f.GetName() != filepath.Base(f.GetName()) || strings.HasPrefix(f.GetName(), ".") || slices.Contains(roleFiles, f.GetName()) || isPendingFence(f.GetName()) {
		return fmt.Errorf("%w: the name of a file is %q", errDamaged, f.GetName())
	}
	t.names[f.GetName()] = true
	path := filepath.Join(t.dir, f.GetName())
	if have {
		t.done, t.had = t.done+f.GetSize(), t.had+f.GetSize()
		return syncFile(path) // an earlier try may have ended before
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // the database before may have it too
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	t.file, t.said, t.got = file, f, 0
	return nil
}

func (t *receiver) write(content []byte, sum uint32) error {
	if t.file == nil || crc(content) != sum || t.got+int64(len(content)) > t.said.GetSize() {
		return fmt.Errorf("%w: a piece of a file", errDamaged)
	}
	if _, err := t.file.Write(content); err != nil {
		return err
	}
	t.got += int64(len(content))
	t.done += int64(len(content))
	if time.Since(t.told) > 5*time.Second {
		t.told = time.Now()
		t.logger.Info("copying the primary", "bytes", t.done, "of", t.total)
	}
	return nil
}

// finish ends the file that is being received. It is synced while the next one comes.
func (t *receiver) finish() error {
	t.syncing.Wait()
	if t.file == nil || t.synced != nil {
		return t.synced
	}
	file := t.file
	t.file = nil
	t.syncing.Go(func() { t.synced = errors.Join(file.Sync(), file.Close()) })
	if t.got != t.said.GetSize() {
		return fmt.Errorf("%w: %s has %d bytes, not %d", errDamaged, t.said.GetName(), t.got, t.said.GetSize())
	}
	return nil
}

func (t *receiver) end() error {
	err := t.finish()
	if t.syncing.Wait(); err == nil {
		err = t.synced
	}
	if err != nil {
		return err
	}
	names, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		if !t.names[e.Name()] && e.Name() != copyingFile {
			if err := os.RemoveAll(filepath.Join(t.dir, e.Name())); err != nil {
				return err
			}
		}
	}
	t.logger.Info("the files are here", "bytes", t.done, "had", t.had)
	return syncDir(t.dir)
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(osfile.SyncDir(d), d.Close())
}

// exists reports whether there is a file, a directory or a link.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}
