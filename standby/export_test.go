package standby

// OnStep is called at each step of a promotion.
func OnStep(fn func(string)) { step = fn }
