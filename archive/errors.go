package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/query"
)

// The errors of a target, found with errors.Is. All functions return errors of
// type [*query.Error], whose kinds say what a caller can do.
var (
	// ErrDamaged: an object in the archive is not as it was written. The error
	// is, or holds, a [*DamageError].
	ErrDamaged = errors.New("the backup is damaged")
	// ErrDenied: access keys are missing or wrong, or do not permit the
	// operation.
	ErrDenied = errors.New("access denied")
	// ErrNoBucket: the bucket does not exist.
	ErrNoBucket = errors.New("no such bucket")
	// ErrUnreachable: the object store does not answer.
	ErrUnreachable = errors.New("cannot be reached")
	// ErrNoSpace: the disk is full.
	ErrNoSpace = errors.New("no space left")
	// ErrLocked: another process is writing to the archive.
	ErrLocked = errors.New("another backup or prune is at work")
	// ErrNoGeneration: there is no backup of this number.
	ErrNoGeneration = errors.New("no such backup")
	// ErrExists: the operation would overwrite something that exists.
	ErrExists = errors.New("already exists")
	// ErrOtherDatabase: the archive holds backups of another database.
	ErrOtherDatabase = errors.New("holds backups of another database")

	errNeverBackedUp = errors.New("this database was not backed up yet; name a place, a directory or s3://BUCKET/PREFIX")

	errNoObject     = errors.New("no such object")
	errObjectExists = errors.New("the object exists")
)

// A DamageError is an object in an archive that is not as it was written. It
// matches [ErrDamaged].
type DamageError struct {
	// Generation is the number of the backup that needs the damaged object; 0 when no
	// backup needs it.
	Generation int
	// File is the database's file; "" when it is the manifest.
	File string
	// Object is the key in the archive.
	Object  string
	Problem string
}

func (e *DamageError) Error() string {
	what := e.Object
	if e.File != "" {
		what = fmt.Sprintf("%s (%s)", e.File, e.Object)
	}
	if e.Generation > 0 {
		return fmt.Sprintf("backup %d is damaged: %s: %s", e.Generation, what, e.Problem)
	}
	if strings.HasPrefix(e.Object, momentsPrefix) {
		return fmt.Sprintf("the log of the archive is damaged: %s: %s", what, e.Problem)
	}
	return fmt.Sprintf("%s, which no backup needs, is damaged: %s", what, e.Problem)
}

// Is makes it match ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

func isDamage(err error) bool { return errors.Is(err, ErrDamaged) }

var kinds = []struct {
	err  error
	kind query.Kind
}{
	{context.Canceled, query.KindCanceled},
	{context.DeadlineExceeded, query.KindCanceled},
	{ErrDamaged, query.KindCorruption},
	{ErrDenied, query.KindFailedPrecondition},
	{ErrOtherDatabase, query.KindFailedPrecondition},
	{ErrNoBucket, query.KindNotFound},
	{ErrNoGeneration, query.KindNotFound},
	{ErrExists, query.KindAlreadyExists},
	{ErrLocked, query.KindBusy},
	{claim.ErrHere, query.KindBusy},
	{claim.ErrElsewhere, query.KindBusy},
	{ErrUnreachable, query.KindUnavailable},
	{ErrNoSpace, query.KindUnavailable},
	{fs.ErrExist, query.KindAlreadyExists},
	{fs.ErrPermission, query.KindFailedPrecondition},
}

// fail gives an error the type of all errors of this package.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return e
	}
	kind := query.KindUnavailable
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			kind = k.kind
			break
		}
	}
	if _, ok := errors.AsType[*targetError](err); ok {
		kind = query.KindInvalidArgument
	}
	return &query.Error{Op: op, Kind: kind, Err: err}
}

// A targetError is the error of a target that cannot be parsed or used.
type targetError struct{ problem string }

func (e *targetError) Error() string { return e.problem }

func targetErrorf(format string, args ...any) error {
	return &targetError{fmt.Sprintf(format, args...)}
}

func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), errors.Is(err, syscall.EFBIG):
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w", ErrDenied, err)
	}
	return err
}
