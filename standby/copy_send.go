package standby

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
)

const (
	// copyDir is where a copy is made, in the database's directory.
	copyDir = "standby.tmp"
	// markerFile identifies a directory with a database. The store's copy leaves it out.
	markerFile = "SMOLWC"
	// pinTime is how long the log after a copy is kept for the standby, until it follows.
	pinTime = 10 * time.Minute
	// pieceBytes are the bytes of a file in one message.
	pieceBytes = 512 << 10
)

// A copyStream is the stream of Copy and of Load.
type copyStream interface {
	Send(*smolwcpb.CopyResponse) error
}

// Copy implements [smolwcpb.StandbysServer].
func (f *feed) Copy(req *smolwcpb.CopyRequest, stream smolwcpb.Standbys_CopyServer) error {
	ctx := stream.Context()
	store, err := f.copied(ctx, req)
	if err != nil {
		return err
	}
	if !f.copying.TryLock() {
		return status.Error(codes.Unavailable, "another standby is being copied; try again when it has ended")
	}
	defer f.copying.Unlock()
	if err := f.begin(ctx); err != nil {
		return status.Error(kindOf(err), err.Error())
	}
	release := store.Pin(store.Latest())
	defer time.AfterFunc(pinTime, release)
	dir, files, err := f.checkpoint(ctx, store)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()      // the next copy tries again
	if _, err := store.SyncLog(ctx); err != nil { // a loss of power leaves no standby with more than its primary
		return status.Error(kindOf(err), err.Error())
	}
	f.mark(ctx, store)
	f.logger.Info("a standby copies the database", "files", len(files))
	return f.sendAll(stream, files, have(req.GetHave()))
}

// mark writes a record after a copy, so that the standby's log soon contains one. If the
// standby is promoted, this server proves with that record that it holds the same changes;
// otherwise it would be rebuilt if nothing else was written meanwhile.
func (f *feed) mark(ctx context.Context, store cf.Shipper) {
	id, err := identify(ctx, store)
	if err == nil {
		err = cmp.Or(f.acks.checkLease(), f.checkUsable())
	}
	if err == nil && f.follows == nil {
		err = writeHistory(ctx, store, id.history)
	}
	if err != nil {
		f.logger.Warn("no record was written behind the copy for a standby", "error", err)
	}
}

// copied checks the request for a copy before the database is changed for it.
func (f *feed) copied(ctx context.Context, req *smolwcpb.CopyRequest) (cf.Shipper, error) {
	if err := cmp.Or(f.checkUsable(), f.refusal); err != nil {
		return nil, err
	}
	store, err := f.shipper()
	if err != nil {
		return nil, err
	}
	id, err := identify(ctx, store)
	if err != nil {
		return nil, err
	}
	if err := id.fits(cmp.Or(req.GetDatabase(), id.uuid), int(req.GetFormat())); err != nil {
		return nil, err
	}
	return store, onEngine(store, req.GetEngines())
}

// onEngine refuses a standby that cannot be on the engine of a store: a standby is a copy of
// its files. One that names no engines is of a smolwc that had standbys on RocksDB only.
func onEngine(store cf.Shipper, engines []string) error {
	if len(engines) == 0 {
		engines = []string{string(query.EngineRocksDB)}
	}
	e, err := query.EngineOf(store.Home())
	if err == nil && !slices.Contains(engines, string(e)) {
		err = status.Errorf(codes.FailedPrecondition, "the database of this server is on %s, and the standby can be on %s only: all servers of a database have one engine", e, strings.Join(engines, " or "))
	}
	return err
}

// formatOfStandbys is the format that a database gets with its first standby.
const formatOfStandbys = 5

// fits refuses a standby of another database, and one whose smolwc is too old.
func (id identity) fits(database string, format int) error {
	if database != id.uuid {
		return status.Errorf(codes.FailedPrecondition, "this server has the database %s, and the standby is of %s", id.uuid, database)
	}
	if needs := max(id.format, formatOfStandbys); format < needs {
		return status.Errorf(codes.FailedPrecondition, "the database has format %d with standbys, and the standby's smolwc knows formats up to %d; give the standby a newer one", needs, format)
	}
	return nil
}

// serveStore gives standbys a store, and removes what a crash left of a copy. A standby
// that is promoted may still be sending one.
func (f *feed) serveStore(store cf.Shipper) {
	if f.copying.TryLock() {
		if err := os.RemoveAll(filepath.Join(store.Home(), copyDir)); err != nil {
			f.logger.Warn("an unfinished copy for a standby cannot be removed", "error", err)
		}
		f.copying.Unlock()
	}
	f.store.Store(&store)
}

// checkpoint copies the database to a directory of its own, and lists the files.
func (f *feed) checkpoint(ctx context.Context, store cf.Shipper) (dir string, files []string, err error) {
	home := store.Home()
	dir = filepath.Join(home, copyDir)
	if err := os.RemoveAll(dir); err != nil {
		return "", nil, err
	}
	if _, err := store.Checkpoint(ctx, dir); err != nil {
		return "", nil, err
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	for _, e := range names {
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return dir, append(files, filepath.Join(home, markerFile)), nil
}

// Load implements [smolwcpb.StandbysServer].
func (f *feed) Load(req *smolwcpb.LoadRequest, stream smolwcpb.Standbys_LoadServer) error {
	store, err := f.shipper()
	if err != nil {
		return err
	}
	dir, err := store.LoadDir(req.GetId())
	if err != nil {
		return status.Error(codes.NotFound, err.Error())
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []string
	for _, e := range names {
		files = append(files, filepath.Join(dir, e.Name()))
	}
	return f.sendAll(stream, files, nil)
}

// have returns a standby's files by their names.
func have(files []*smolwcpb.CopiedFile) map[string]*smolwcpb.CopiedFile {
	all := map[string]*smolwcpb.CopiedFile{}
	for _, f := range files {
		all[f.GetName()] = f
	}
	return all
}

func (f *feed) sendAll(stream copyStream, files []string, have map[string]*smolwcpb.CopiedFile) error {
	var total int64
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		total += info.Size()
	}
	if err := stream.Send(&smolwcpb.CopyResponse{TotalBytes: total}); err != nil {
		return err
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(filepath.Base(a), filepath.Base(b)) })
	for _, path := range files {
		if err := f.sendFile(stream, path, have[filepath.Base(path)]); err != nil {
			return err
		}
	}
	return stream.Send(&smolwcpb.CopyResponse{End: true})
}

// sendFile sends one file, unless the standby already holds it.
func (f *feed) sendFile(stream copyStream, path string, has *smolwcpb.CopiedFile) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	said := &smolwcpb.CopiedFile{Name: filepath.Base(path), Size: info.Size()}
	if has != nil && has.GetSize() == said.GetSize() {
		sum, err := crcOf(file)
		if err != nil {
			return err
		}
		if sum == has.GetCrc() {
			return stream.Send(fileMessage(said, true))
		}
	}
	if err := stream.Send(fileMessage(said, false)); err != nil {
		return err
	}
	room := make([]byte, min(pieceBytes, said.GetSize())) // a message is encoded when it is sent
	for at := int64(0); at < said.GetSize(); {
		select {
		case <-f.closed:
			return status.Error(codes.Unavailable, "the server stops")
		default:
		}
		piece := room[:min(pieceBytes, said.GetSize()-at)]
		if _, err := file.ReadAt(piece, at); err != nil {
			return fmt.Errorf("read %s: %w", said.GetName(), err)
		}
		if err := stream.Send(&smolwcpb.CopyResponse{Content: piece, Crc: crc(piece)}); err != nil {
			return err
		}
		at += int64(len(piece))
	}
	return nil
}

// fileMessage begins a file.
func fileMessage(said *smolwcpb.CopiedFile, have bool) *smolwcpb.CopyResponse {
	m := &smolwcpb.CopyResponse{File: said, Have: have}
	m.CrcOfFile = crcOfFile(m)
	return m
}

// crcOf is the checksum of a file.
func crcOf(file *os.File) (uint32, error) {
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, 1<<62)); err != nil {
		return 0, err
	}
	return sum.Sum32(), nil
}
