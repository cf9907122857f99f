package transfer

// eachField returns a function that shows the fields of the next record to a looker.
func eachField(file string, src *source, f format, d Dialect, seen *looker) (next func() error, err error) {
	if f.json {
		j, err := newJSONReader(file, src.text, &fieldNames{})
		return func() error { return j.look(seen) }, err
	}
	records, header, err := openAll(file, src, f, d)
	if err != nil {
		return nil, err
	}
	rec := &record{file: file, names: header, fields: make([]field, len(header))}
	return func() error {
		if err := records.next(rec); err != nil {
			return err
		}
		for i, name := range header {
			of := rec.fields[i]
			switch {
			case of.state == nested:
				seen.see(FieldReport{Field: name}, "…", false)
			case of.state != absent && of.text != "":
				seen.see(FieldReport{Field: name}, of.text, true)
			}
		}
		return nil
	}, nil
}

// openAll opens a file of records with the names of their fields for all of these.
func openAll(file string, src *source, f format, d Dialect) (records recordReader, header []string, err error) {
	if f.parquet {
		all := &fieldNames{}
		p, err := newParquetReader(file, src.file, nil, all)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range newHeader(p.file.Fields()).names {
			all.add(name, "", "")
		}
		return p, all.names, p.choose(all)
	}
	c, err := newCSVReader(file, src.text, f, d, &fieldNames{})
	if err != nil {
		return nil, nil, err
	}
	for i := range c.header.names {
		c.columns, c.codes = append(c.columns, i), append(c.codes, noCode)
	}
	return c, c.header.names, nil
}
