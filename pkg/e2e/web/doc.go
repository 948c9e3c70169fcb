// Package web opens the pages in a browser, in front of a whole stack, and does what people
// do: click twice, reload, lose the connection. It holds tests only, behind the build tag
// web, because they need a Chromium: `make test-web` installs one and runs them.
package web
