package regions

// SetSizes changes the number of keys in the first and in the largest batches, and the
// number that a caller passes before the iterator reads ahead.
func (it *Iterator) SetSizes(first, most, ahead int) {
	it.source.sizes = sizes{first: first, most: most, ahead: ahead}
}
