package regions

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cf"
	tikverr "github.com/tikv/client-go/v2/error"
)

// ErrTooOld: TiKV may have removed what the snapshot needs, because the snapshot is
// older than the safepoint of the garbage collection.
var ErrTooOld = fmt.Errorf("%w: the snapshot is older than the safepoint of TiKV", cf.ErrUnavailable)

// Ended is the error of a call whose context ended before TiKV answered. err is the
// last error until then. After a deadline it is [cf.ErrUnavailable] too.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() == context.DeadlineExceeded {
		return fmt.Errorf("%w: TiKV has not answered in time: %w; its last error is: %v", cf.ErrUnavailable, ctx.Err(), err)
	}
	return ctx.Err()
}

// wrap gives an error of client-go its kind. After the end of the context, the error is
// the context's. The errors that client-go returns when its attempts have used up their
// time are of many types, some of them the connection's, so these are the rest.
func wrap(ctx context.Context, err error) error {
	var early *tikverr.ErrGCTooEarly
	var pd *tikverr.ErrPDServerTimeout
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return Ended(ctx, err)
	case errors.Is(err, cf.ErrCorrupt):
		return err
	case strings.Contains(err.Error(), "Corruption:"): // RocksDB's status in the text of TiKV's error
		return fmt.Errorf("%w: %w", cf.ErrCorrupt, err)
	case errors.As(err, &early):
		return fmt.Errorf("%w: it is of %v, and the safepoint is %v", ErrTooOld, early.TxnStartTS, early.GCSafePoint)
	case errors.As(err, &pd) && err.Error() == "":
		return fmt.Errorf("%w: PD does not answer", cf.ErrUnavailable)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // not the caller's
		return fmt.Errorf("%w: a connection to TiKV ended: %v", cf.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", cf.ErrUnavailable, err)
}
