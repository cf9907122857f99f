package shardmap

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// DefaultEvery is how often a [Watcher] reads its file.
const DefaultEvery = 250 * time.Millisecond

// WatchOptions say how a file is followed. The zero value is usable.
type WatchOptions struct {
	Every  time.Duration // between two readings of the file; 0 is [DefaultEvery]
	Logger *slog.Logger  // gets changes and mistakes; nil discards them
}

// A Watcher holds the newest valid map of a file. It is safe for concurrent use.
type Watcher struct {
	file   string
	logger *slog.Logger
	text   []byte // of the last reading; nil: it failed

	mu      sync.Mutex
	current *Map
	changed chan struct{} // closed when there is another map
	err     error
	changes int64
}

// Watch reads a file, and reads it again until the context ends. A file that is not valid
// is an error now; later it leaves the map as it was.
func Watch(ctx context.Context, file string, o WatchOptions) (*Watcher, error) {
	if ctx == nil {
		return nil, errors.New("the context is nil; context.Background gives one")
	}
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	m, err := parseFile(file, text)
	if err != nil {
		return nil, err
	}
	w := &Watcher{file: file, logger: o.Logger, text: text, current: m, changed: make(chan struct{})}
	if w.logger == nil {
		w.logger = slog.New(slog.DiscardHandler)
	}
	if o.Every <= 0 {
		o.Every = DefaultEvery
	}
	go w.run(ctx, o.Every)
	return w, nil
}

func (w *Watcher) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.read()
		}
	}
}

// read takes over the file if it changed and is valid.
func (w *Watcher) read() {
	text, err := readFile(w.file)
	if err == nil && w.text != nil && bytes.Equal(text, w.text) {
		return
	}
	var m *Map
	if w.text = nil; err == nil {
		m, err = parseFile(w.file, text)
		w.text = text
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if w.err == nil || w.err.Error() != err.Error() {
			w.logger.Error("the shard map is not valid; the one before stays in use", "error", err)
		}
		w.err = err
		return
	}
	w.err = nil
	w.current = m
	w.changes++
	close(w.changed)
	w.changed = make(chan struct{})
	w.logger.Info("the shard map has changed", "file", w.file, "instances", len(m.Resources))
}

// Map is the newest valid map, and a channel that is closed when there is another one.
func (w *Watcher) Map() (*Map, <-chan struct{}) {
	if w == nil {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current, w.changed
}

// Err is the file's current error; nil if the map is up to date with it.
func (w *Watcher) Err() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Changes is how often the file was taken over since Watch.
func (w *Watcher) Changes() int64 {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changes
}
