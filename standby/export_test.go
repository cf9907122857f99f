package standby

// OnStep is called at each step of a promotion.
func OnStep(fn func(string)) { step = fn }

// Waiting is the number of writes that wait for a standby.
func Waiting(p *Primary) int {
	q := p.feed.quorum
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
