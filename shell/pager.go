package shell

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

// PagerCommand is the command that shows what is longer than the screen:
// $SMOLWC_PAGER, else $PAGER, else less. It is empty where that is cat, and on a
// terminal that cannot move its cursor.
func PagerCommand(getenv func(string) string) string {
	if getenv == nil {
		return ""
	}
	command := cmp.Or(getenv("SMOLWC_PAGER"), getenv("PAGER"), "less -SRFX")
	if command == "cat" || !canMoveCursor(getenv) {
		return ""
	}
	return command
}

func canMoveCursor(getenv func(string) string) bool {
	term := getenv("TERM")
	return term != "" && term != "dumb"
}

// What .pager knows.
const (
	pagerAuto = "auto" // what is longer than the screen goes through the pager
	pagerOn   = "on"   // everything does
	pagerOff  = "off"
)

// A pager stands between a session and its screen. It holds back what a
// statement prints for a moment, to see whether it fits the screen, and when it
// does not, hands all of it to the pager's command. What is written to the side
// (errors, messages) waits until that ends. A pager is used by one goroutine, but
// for stop.
type pager struct {
	command       string
	mode          string
	screen        io.Writer
	side          io.Writer
	width, height func() int
	// lend gives the terminal to a command and returns what takes it back.
	lend func() (takeBack func())

	begun  time.Time // of the page; zero: none, what comes goes to the screen
	held   bytes.Buffer
	shown  int // how much of held is on the screen
	lines  int
	column int
	direct bool // this page goes to the screen

	running  *exec.Cmd
	working  atomic.Pointer[os.Process] // of running, while the page is being written
	in       io.WriteCloser
	ended    chan struct{}
	takeBack func()
	later    bytes.Buffer // for side
	quit     func()       // called when the command ends; nil: nothing
}

// pageHold is how long output is held back before it is shown. It may still go
// to the command afterwards, when it grows longer than the screen.
const pageHold = 100 * time.Millisecond

// begin begins a page. quit is called, by another goroutine, if the pager's
// command ends before the page.
func (p *pager) begin(quit func()) {
	p.end(false)
	p.quit = quit
	if p.mode != pagerOff && p.command != "" && p.height() > 1 {
		p.begun = time.Now()
	}
}

// Write takes output. Once nobody looks at the command's screen any more, it is
// ErrOutputClosed.
func (p *pager) Write(b []byte) (int, error) {
	if p.running != nil {
		n, err := p.in.Write(b)
		if err != nil {
			err = ErrOutputClosed
		}
		return n, err
	}
	if p.begun.IsZero() || p.direct {
		return p.screen.Write(b)
	}
	p.held.Write(b)
	p.count(b)
	if (p.lines >= p.height() || p.mode == pagerOn) && p.start() {
		if _, err := p.in.Write(p.held.Bytes()); err != nil {
			return 0, ErrOutputClosed
		}
		return len(b), nil
	}
	return len(b), p.tick()
}

// tick shows what has been held back for long enough.
func (p *pager) tick() error {
	if p.running != nil || p.begun.IsZero() || !p.direct && time.Since(p.begun) < pageHold {
		return nil
	}
	return p.show()
}

// show shows what is held, and goes on holding it unless this page is direct.
func (p *pager) show() error {
	rest := p.held.Bytes()[p.shown:]
	p.shown = p.held.Len()
	if p.direct {
		p.held.Reset()
		p.shown = 0
	}
	if len(rest) == 0 {
		return nil
	}
	_, err := p.screen.Write(rest)
	return err
}

// count counts the screen's lines.
func (p *pager) count(b []byte) {
	width := max(p.width(), 1)
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

// displayWidth is the width of text in which colours take no place.
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

// start starts the command; when it cannot, the page is shown without it.
func (p *pager) start() bool {
	cmd := pagerProcess(p.command)
	if cmd == nil {
		p.direct = true
		return false
	}
	cmd.Stdout, cmd.Stderr = p.screen, p.side
	in, err := cmd.StdinPipe()
	if err != nil {
		p.direct = true
		return false
	}
	p.takeBack = p.lend()
	if err := cmd.Start(); err != nil {
		p.takeBack()
		p.direct = true
		return false
	}
	p.running, p.in, p.ended = cmd, in, make(chan struct{})
	p.working.Store(cmd.Process)
	go func(quit func(), ended chan struct{}) {
		_ = cmd.Wait() // it may have been told to end
		close(ended)
		if quit != nil {
			quit()
		}
	}(p.quit, p.ended)
	return true
}

// pagerProcess is the command, run by the shell only where it has to be, so
// that it can be told to end. It is nil when there is no such command.
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
	if os.Getenv("LESSCHARSET") == "" {
		cmd.Env = append(cmd.Env, "LESSCHARSET=utf-8")
	}
	return cmd
}

// end ends the page: it shows what is held, or waits until the command ends,
// which it is told to when the page is cut short.
func (p *pager) end(cutShort bool) error {
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

// stop cuts the page short that is being written, by whichever goroutine: a
// write that waits for the command ends.
func (p *pager) stop() {
	if process := p.working.Load(); process != nil {
		_ = process.Signal(syscall.SIGTERM) // it may have ended
	}
}

func (p *pager) finish(cutShort bool) error {
	_ = p.in.Close() // the command may be gone
	if cutShort {
		p.stop()
		select {
		case <-p.ended:
		case <-time.After(time.Second):
			_ = p.running.Process.Kill()
		}
	}
	p.working.Store(nil)
	<-p.ended
	p.takeBack()
	p.running = nil
	_, err := io.Copy(p.side, &p.later)
	p.later.Reset()
	return err
}

// A pagerSide is where errors and messages go while there is a pager.
type pagerSide struct{ *pager }

func (w pagerSide) Write(b []byte) (int, error) {
	if w.running != nil {
		return w.later.Write(b)
	}
	if !w.begun.IsZero() && !w.direct { // it comes behind what is held
		if err := w.show(); err != nil && !errors.Is(err, ErrOutputClosed) {
			return 0, err
		}
	}
	return w.side.Write(b)
}
