// dom: elements are made once and then changed in place, so that focus, selection and what a
// screen reader has reached stay where they are.

/** el makes an element: el('button', {type: 'button', onclick: f}, 'text', child). */
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (typeof value === 'boolean') e.toggleAttribute(name, value);
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

/** text writes only what differs: a live region speaks at each write. */
export function text(e, value) {
  if (e.textContent !== value) e.textContent = value;
}

/** show hides or shows, and hands focus on to next where it was inside what hides. */
export function show(e, visible, next) {
  if (e.hidden === !visible) return;
  const focused = !visible && e.contains(document.activeElement);
  e.hidden = !visible;
  if (focused) next?.focus();
}

/** enable hands focus on to next where the button that has it cannot be pressed any more. */
export function enable(button, enabled, next) {
  if (!enabled && document.activeElement === button) next.focus();
  button.disabled = !enabled;
}
