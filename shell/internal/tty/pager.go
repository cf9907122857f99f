package tty

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mattn/go-runewidth"
)

// PagerCommand returns the command for output longer than the screen: $SMOLWC_PAGER,
// else $PAGER, else less. It returns "" if the command is cat or the terminal cannot
// move its cursor.
func PagerCommand(getenv func(string) string) string {
	if getenv == nil {
		return ""
	}
	command := cmp.Or(getenv("SMOLWC_PAGER"), getenv("PAGER"), "less")
	if command == "cat" || !CanMoveCursor(getenv) {
		return ""
	}
	return command
}

// CanMoveCursor reports whether the terminal can move its cursor.
func CanMoveCursor(getenv func(string) string) bool {
	term := getenv("TERM")
	return term != "" && term != "dumb"
}

// ErrClosed is the error of writing output that nobody reads any longer.
var ErrClosed = errors.New("output is closed")

// The settings of .pager.
const (
	Auto = "auto" // output longer than the screen goes through the pager
	On   = "on"   // all output does
	Off  = "off"
)

// A Pager connects a session to its screen. It holds a statement's output back for a
// moment, to see whether it fits the screen. If it does not fit, all of it goes to the
// pager's command. Output to the side (errors, messages) waits until the command ends.
// Only one goroutine may use a Pager, except that any goroutine may call Stop and Hangup.
type Pager struct {
	Command       string
	Mode          string
	Screen        io.Writer
	Side          io.Writer
	Width, Height func() int // of the screen; nil: all output goes to the screen
	// Lend restores the terminal for a command and returns a function that takes it
	// back.
	Lend func() (takeBack func())

	begun  time.Time // start of the page; zero: no page, output goes to the screen
	held   bytes.Buffer
	shown  int // bytes of held that are on the screen
	lines  int
	column int
	direct bool // this page goes directly to the screen

	running  *exec.Cmd
	working  atomic.Pointer[os.Process] // of running, while the page is being written
	shower   atomic.Pointer[os.Process] // of running, until it ends
	over     atomic.Bool                // no further page is shown: see Hangup
	in       io.WriteCloser
	ended    chan struct{}
	takeBack func()
	later    bytes.Buffer // for side
	quit     func()       // called when the command ends; may be nil
}

// pageHold is how long output is held back before it is shown. If it then grows longer
// than the screen, it may still go to the command.
const pageHold = 100 * time.Millisecond

// Begin begins a page. Another goroutine calls quit if the pager's command ends before
// the page does.
func (p *Pager) Begin(quit func()) {
	p.End(false)
	p.quit = quit
	if p.Mode != Off && p.Command != "" && p.Height != nil && p.Height() > 1 {
		p.begun = time.Now()
	}
}

// Write writes output. After the end of the command, the error is ErrClosed.
func (p *Pager) Write(b []byte) (int, error) {
	if p.running != nil {
		n, err := p.in.Write(b)
		if err != nil {
			err = ErrClosed
		}
		return n, err
	}
	if p.begun.IsZero() || p.direct {
		return p.Screen.Write(b)
	}
	p.held.Write(b)
	p.count(b)
	if (p.lines >= p.Height() || p.Mode == On) && p.start() {
		if _, err := p.in.Write(p.held.Bytes()); err != nil {
			return 0, ErrClosed
		}
		return len(b), nil
	}
	return len(b), p.Tick()
}

// Tick shows output that was held back for pageHold.
func (p *Pager) Tick() error {
	if p.running != nil || p.begun.IsZero() || !p.direct && time.Since(p.begun) < pageHold {
		return nil
	}
	return p.show()
}

// show shows the held output. It keeps holding it unless this page is direct.
func (p *Pager) show() error {
	rest := p.held.Bytes()[p.shown:]
	p.shown = p.held.Len()
	if p.direct {
		p.held.Reset()
		p.shown = 0
	}
	if len(rest) == 0 {
		return nil
	}
	_, err := p.Screen.Write(rest)
	return err
}

func (p *Pager) count(b []byte) {
	width := max(p.Width(), 1)
	for line := range bytes.Lines(b) {
		text := bytes.TrimSuffix(line, []byte("\n"))
		p.column += displayWidth(text)
		for ; p.column > width; p.column -= width {
			p.lines++
		}
		if len(text) < len(line) {
			p.lines, p.column = p.lines+1, 0
		}
	}
}

// displayWidth is the width of text on the screen; colour codes have no width.
func displayWidth(b []byte) int {
	n := 0
	for len(b) > 0 {
		before, after, found := bytes.Cut(b, []byte("\x1b["))
		n += runewidth.StringWidth(string(before))
		if !found {
			break
		}
		end := bytes.IndexByte(after, 'm')
		b = after[end+1:]
	}
	return n
}

// start starts the command. If it cannot start, the page goes directly to the screen.
func (p *Pager) start() bool {
	cmd := pagerProcess(p.Command)
	if cmd == nil {
		p.direct = true
		return false
	}
	cmd.Stdout, cmd.Stderr = p.Screen, p.Side
	in, err := cmd.StdinPipe()
	if err != nil {
		p.direct = true
		return false
	}
	p.takeBack = p.Lend()
	if err := cmd.Start(); err != nil {
		p.takeBack()
		p.direct = true
		return false
	}
	p.running, p.in, p.ended = cmd, in, make(chan struct{})
	p.working.Store(cmd.Process)
	if p.shower.Store(cmd.Process); p.over.Load() {
		p.Hangup()
	}
	go func(quit func(), ended chan struct{}) {
		_ = cmd.Wait() // Stop may have ended it
		close(ended)
		if quit != nil {
			quit()
		}
	}(p.quit, p.ended)
	return true
}

// pagerProcess returns the command. It uses a shell only if the command needs one, so
// that a signal reaches the command itself. It returns nil if there is no such command.
func pagerProcess(command string) *exec.Cmd {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil
	}
	cmd := exec.Command("sh", "-c", command)
	if !strings.ContainsAny(command, "|&;<>()$`\\\"'*?[#~=%\n") {
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil
		}
		cmd = exec.Command(words[0], words[1:]...)
	}
	cmd.Env = os.Environ()
	for _, v := range []struct{ name, value string }{{"LESS", "SRFX"}, {"LESSCHARSET", "utf-8"}} { // -R: it shows our colours
		if os.Getenv(v.name) == "" {
			cmd.Env = append(cmd.Env, v.name+"="+v.value)
		}
	}
	return cmd
}

// End ends the page: it shows the held text, or waits until the command ends. If the
// page is cut short, End terminates the command.
func (p *Pager) End(cutShort bool) error {
	err := error(nil)
	if p.running != nil {
		err = p.finish(cutShort)
	} else if !p.begun.IsZero() {
		p.direct = true
		err = p.show()
	}
	p.held.Reset()
	p.begun, p.shown, p.lines, p.column, p.direct, p.quit = time.Time{}, 0, 0, 0, false, nil
	return err
}

// Stop cuts short the page that is being written: it terminates the command, so a
// blocked write returns. Any goroutine may call it.
func (p *Pager) Stop() {
	if process := p.working.Load(); process != nil {
		_ = process.Signal(syscall.SIGTERM) // it may have ended
	}
}

// Hangup terminates the command, even while it shows a page that is complete: the session
// ends. Any goroutine may call it.
func (p *Pager) Hangup() {
	p.over.Store(true)
	if process := p.shower.Load(); process != nil {
		_ = process.Signal(syscall.SIGTERM) // it may have ended
	}
}

func (p *Pager) finish(cutShort bool) error {
	_ = p.in.Close() // the command may be gone
	if cutShort {
		p.Stop()
		select {
		case <-p.ended:
		case <-time.After(time.Second):
			_ = p.running.Process.Kill()
		}
	}
	p.working.Store(nil)
	<-p.ended
	p.shower.Store(nil)
	p.takeBack()
	p.running = nil
	_, err := io.Copy(p.Side, &p.later)
	p.later.Reset()
	return err
}

// SideWriter returns the writer for errors and messages. They wait until the pager's
// command ends.
func (p *Pager) SideWriter() io.Writer { return sideWriter{p} }

type sideWriter struct{ *Pager }

func (w sideWriter) Write(b []byte) (int, error) {
	if w.running != nil {
		return w.later.Write(b)
	}
	if !w.begun.IsZero() && !w.direct { // it follows the held output
		if err := w.show(); err != nil && !errors.Is(err, ErrClosed) {
			return 0, err
		}
	}
	return w.Side.Write(b)
}
