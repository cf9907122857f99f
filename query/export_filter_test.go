package query

// Unpushed leaves a read's filter whole: nothing of it goes to the store.
func Unpushed() ReadOption { return optionFunc(func(r *readSpec) { r.unpushed = true }) }
