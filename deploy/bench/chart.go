package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// The chart's measures, in pixels.
const (
	chartWidth = 820
	barsFrom   = 260
	barsWide   = 460 // of the longest
	barHigh    = 9
	lineHigh   = 34
	headHigh   = 78
)

// chartStyle reads on light and on dark, by what the reader's system prefers.
const chartStyle = `<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.small { font-size: 11px }
.accepted { fill: #8c959f } .stored { fill: #d0d7de }
.ours .accepted { fill: #0969da } .ours .stored { fill: #80ccff }
.ours text { font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .accepted { fill: #8b949e } .stored { fill: #484f58 }
  .ours .accepted { fill: #58a6ff } .ours .stored { fill: #1f6feb }
}
</style>
`

// drawChart shows accepted/s and stored/s of each way that sells, on a logarithmic scale: they
// lie a hundredfold apart.
func drawChart(r report) string {
	var ways []line
	most := 10.0
	for _, l := range r.Ways {
		if l.Stored > 0 {
			ways = append(ways, l)
			most = max(most, l.Accepted, l.Stored)
		}
	}
	high := headHigh + lineHigh*len(ways) + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="Orders a second, by way of selling">`+"\n",
		chartWidth, high, chartWidth, high)
	b.WriteString(chartStyle)
	b.WriteString(`<text class="title" x="16" y="28">Orders a second, each way of selling</text>` + "\n")
	b.WriteString(`<rect class="accepted" x="16" y="43" width="10" height="10"/><text class="small" x="32" y="52">accepted</text>` + "\n")
	b.WriteString(`<rect class="stored" x="100" y="43" width="10" height="10"/><text class="small" x="116" y="52">stored (logarithmic scale)</text>` + "\n")
	for i, l := range ways {
		drawWay(&b, l, headHigh+lineHigh*i, most, i == len(ways)-1)
	}
	fmt.Fprintf(&b, `<text class="small" x="16" y="%d">%s</text>`+"\n</svg>\n", high-12, html.EscapeString(r.Title))
	return b.String()
}

func drawWay(b *strings.Builder, l line, top int, most float64, ours bool) {
	class := ""
	if ours {
		class = ` class="ours"`
	}
	fmt.Fprintf(b, "<g%s>\n"+`<text x="16" y="%d">%s</text>`+"\n", class, top+14, html.EscapeString(l.Name))
	for i, bar := range []struct {
		class string
		found float64
	}{{"accepted", l.Accepted}, {"stored", l.Stored}} {
		wide, y := barWidth(bar.found, most), top+i*(barHigh+2)
		fmt.Fprintf(b, `<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="2"/>`, bar.class, barsFrom, y, wide, barHigh)
		fmt.Fprintf(b, `<text class="small" x="%d" y="%d">%s</text>`+"\n", barsFrom+wide+6, y+barHigh, thousands(bar.found))
	}
	b.WriteString("</g>\n")
}

// barWidth begins at 10 a second, which no way stays under.
func barWidth(found, most float64) int {
	if found <= 10 {
		return 1
	}
	return max(1, int(barsWide*math.Log10(found/10)/math.Log10(max(most, 11)/10)))
}

// thousands writes a count as people read it: 12,345.
func thousands(f float64) string {
	s := fmt.Sprintf("%.0f", f)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func writeChart(path string, r report) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(drawChart(r)), 0o644)
}
