package cftikv

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tikv/client-go/v2/tikv"

	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/tikv/cftikv/internal/dial"
)

// Options are the settings of a [Store]. The zero Options are the usual ones.
type Options struct {
	// MustExist makes Open fail with [cf.ErrNotExist] instead of creating the store.
	MustExist bool
	// ForeignGC leaves the safepoint of the cluster to another program, TiDB for
	// example. Without such a program TiKV keeps all old versions of keys forever.
	ForeignGC bool
	// Logger gets messages of the janitor for an operator; nil discards them.
	Logger *slog.Logger
}

// Open opens the store with a name in a TiKV cluster, and creates it unless the options
// forbid it. A name is 1 to 200 bytes long, without a slash. The client stays the
// caller's, who closes it after the store.
func Open(ctx context.Context, client *tikv.KVStore, name string, o Options) (*Store, error) {
	keys, err := newKeyspace(name)
	if err != nil {
		return nil, err
	}
	s := &Store{
		client: client, keys: keys, foreignGC: o.ForeignGC, logger: o.Logger,
		service: "smolwc-" + rand.Text(),
	}
	s.life, s.cut = context.WithCancel(context.Background())
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	_, err = s.latest(ctx)
	if isMissing(err) && !o.MustExist {
		if _, err = again(ctx, func() (struct{}, error) { return struct{}{}, s.create(ctx) }); err == nil {
			_, err = s.latest(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", name, err)
	}
	s.startJanitor()
	return s, nil
}

// openTimeout bounds OpenURL if the context does not.
const openTimeout = 15 * time.Second

// OpenURL opens the store that a URL names, as [Open] does:
//
//	tikv://pd1:2379,pd2:2379/NAME?ca=ca.pem&cert=client.pem&key=client.key
//
// Its hosts are one or more PDs of the cluster. The files, in PEM, turn on TLS; all three
// are needed. The name is percent-encoded where necessary. A further parameter gc=off is
// [Options.ForeignGC].
//
// Close also closes the client that OpenURL made for the store. If the cluster does not
// answer, the error is [cf.ErrUnavailable]; it comes when the context ends, or after 15 s
// for a context without a deadline.
//
// What client-go logs goes to [slog.Default] at level debug, unless the program set the
// logger of github.com/pingcap/log before. client-go uses one set of certificates in a
// process: OpenURL refuses a second cluster that needs others. OpenURL also sets
// client-go's kv.TxnCommitBatchSize to 64 KiB, unless the program changed it before.
func OpenURL(ctx context.Context, url string, o Options) (*Store, error) {
	address, err := dial.Parse(url)
	if err != nil {
		return nil, err
	}
	if _, err := newKeyspace(address.Name); err != nil {
		return nil, err
	}
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, openTimeout)
		defer cancel()
	}
	client, err := dial.Dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", address.Name, err)
	}
	o.ForeignGC = o.ForeignGC || address.ForeignGC
	s, err := Open(ctx, client.KVStore, address.Name, o)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w: TiKV does not answer: %v", cf.ErrUnavailable, err)
		}
		client.Close()
		return nil, err
	}
	s.owned = client
	return s, nil
}

// create writes the version of an empty store, unless there is one.
func (s *Store) create(ctx context.Context) error {
	tx, err := s.begin(ctx, s.keys.version())
	if err != nil {
		return err
	}
	defer tx.end()
	if _, err := s.stateAt(ctx, tx.start); err == nil || !isMissing(err) {
		return err
	}
	if err := s.empty(ctx, tx); err != nil {
		return err
	}
	if err := tx.kv.Set(s.keys.version(), new(state).appendVersion(nil)); err != nil {
		return wrap(ctx, err)
	}
	_, err = tx.commit(ctx)
	return err
}

// empty refuses to create a store among keys that begin as its own.
func (s *Store) empty(ctx context.Context, tx *attempt) error {
	prefix := []byte(s.keys.prefix)
	return s.each(ctx, tx.start, 0, prefix, after(prefix), func(key, _ []byte) error {
		if bytes.Equal(key, s.keys.version()) {
			return nil
		}
		return fmt.Errorf("there is no store, but the key %q, which begins as its keys: %w", key, cf.ErrCorrupt)
	})
}
