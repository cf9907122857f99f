package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A bucket stores objects: whole values under keys with slashes.
type bucket interface {
	// list gives the keys that start with a prefix, and their sizes.
	list(ctx context.Context, prefix string) (map[string]int64, error)
	// open reads a value; the error matches errNoObject when there is no such value.
	open(ctx context.Context, key string) (io.ReadCloser, error)
	// put writes a file's content under a key, atomically and durably.
	put(ctx context.Context, key string, f content) error
	// create writes a value, atomically and durably. If the key exists, the error
	// matches errObjectExists.
	create(ctx context.Context, key string, value []byte) error
	// remove removes a value; it need not be there.
	remove(ctx context.Context, key string) error
	// lock makes this process the only writer until unlock. held returns an error when
	// the lock was lost.
	lock(ctx context.Context) (held func(context.Context) error, unlock func(), err error)
	// holder returns the holder of the lock, nil if the lock is free.
	holder(ctx context.Context) (*Holder, error)
	// unlock takes the lock away from its holder.
	unlock(ctx context.Context, h Holder) error
	// prepare makes the bucket ready for writing; the lock is held.
	prepare(ctx context.Context) error
}

// A Holder is the holder of an archive's lock.
type Holder struct {
	Host    string        // "" where it is not known, as of a directory's lock
	PID     int           // 0 where it is not known
	Renewed time.Duration // since the lock was taken or renewed last
	// Liveness says whether the process lives. It is Dead too when its lock was not
	// renewed for so long that any backup takes it over.
	Liveness Liveness
	// System says that the lock is the operating system's, as for a directory: it
	// ends with the process and cannot be taken away.
	System bool

	owner string // of the lease
}

// String names the holder, and says what is known of its process.
func (h Holder) String() string {
	if h.System {
		return "a process of this machine, which is alive"
	}
	known := map[Liveness]string{Unknown: "may be alive", Alive: "is alive", Dead: "has ended"}
	return fmt.Sprintf("process %d on %s, which renewed it %s ago and %s", h.PID, h.Host, h.Renewed.Round(time.Second), known[h.Liveness])
}

// The keys of an archive.
const (
	objectsPrefix     = "objects/"
	generationsPrefix = "generations/"
	lockKey           = "lock"
	momentsPrefix     = "moments/"               // what package moments keeps
	basesPrefix       = momentsPrefix + "bases/" // the backups that it needs
)

func objectKey(sum Sum) string {
	hex := sum.String()
	return objectsPrefix + hex[:2] + "/" + hex
}

var objectName = regexp.MustCompile(`^objects/([0-9a-f]{2})/([0-9a-f]{64})$`)

func objectSum(key string) (sum Sum, ok bool) {
	m := objectName.FindStringSubmatch(key)
	if m == nil || !strings.HasPrefix(m[2], m[1]) {
		return sum, false
	}
	return sum, sum.UnmarshalText([]byte(m[2])) == nil
}

func manifestKey(id int) string { return fmt.Sprintf("%s%08d.json", generationsPrefix, id) }

func manifestID(key string) (id int, ok bool) {
	digits, ok := strings.CutSuffix(path.Base(key), ".json")
	id, err := strconv.Atoi(digits)
	return id, ok && err == nil && id > 0 && manifestKey(id) == key
}

// retryPause is the pause before the first retry; the next one is twice as long.
var retryPause = time.Second

// retried runs f again when the network fails, twice at most.
func retried(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if err == nil || isDamage(err) || ctx.Err() != nil || try == 3 || !errors.Is(err, ErrUnreachable) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(try) * retryPause):
		}
	}
}
