package config

// typoMax is how many letters a misspelt name may have wrong, missing or too many.
const typoMax = 2

// nearest returns the known name that is closest to s, "" if none is close.
func nearest(s string, known []string) string {
	best, name := typoMax+1, ""
	for _, k := range known {
		if d := distance(s, k); d < best {
			best, name = d, k
		}
	}
	return name
}

// distance is how many letters must be changed, added or dropped to make b of a
// (Levenshtein), counted row by row.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
