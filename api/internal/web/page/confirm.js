// confirm: a question that has to be answered before something is done that cannot be undone.

import {el} from './dom.js';

/** confirmed resolves to whether yes was chosen; Escape is a no. */
export function confirmed({title, text, yes, no}) {
  return new Promise((resolve) => {
    const dialog = el('dialog', {'aria-labelledby': 'question', 'aria-describedby': 'meaning'},
      el('h2', {id: 'question'}, title), el('p', {id: 'meaning'}, text),
      el('div', {class: 'actions'},
        el('button', {type: 'button', class: 'quiet', autofocus: true, onclick: () => dialog.close()}, no),
        el('button', {type: 'button', class: 'main', onclick: () => dialog.close('yes')}, yes)));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes');
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
