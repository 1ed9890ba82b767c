'use strict';
(function () {
	const all = (query, from) => [...(from || document).querySelectorAll(query)];
	const get = id => document.getElementById(id);
	const root = document.documentElement, tip = get('tip');
	let now = null; // the mark or cell that is read

	root.classList.add('live');

	// What marks and cells say is shown by us, at once and by keyboard, not by the browser.
	for (const mark of all('.pt, .flames span')) {
		const title = mark.querySelector('title');
		mark.dataset.tip = title ? title.textContent : mark.title;
		if (title) title.remove(); else mark.removeAttribute('title');
	}

	function read(mark) {
		if (now) now.classList.remove('now');
		now = mark;
		tip.textContent = mark ? mark.dataset.tip : '';
		if (!mark) return;
		mark.classList.add('now');
		const at = mark.getBoundingClientRect(), size = tip.getBoundingClientRect();
		const below = at.bottom + 8 + size.height < innerHeight;
		tip.style.left = Math.max(4, Math.min(at.left, innerWidth - size.width - 4)) + 'px';
		tip.style.top = Math.max(4, below ? at.bottom + 8 : at.top - size.height - 8) + 'px';
	}

	// The nearest mark of a plot, if it is near; elsewhere, what is pointed at.
	function nearest(event) {
		const plot = event.target.closest('.plot');
		if (!plot) return event.target.closest('.pt, .flames span');
		let best = null, least = 24;
		for (const mark of all('.pt', plot)) {
			const r = mark.getBoundingClientRect();
			const far = Math.hypot(event.clientX - (r.left + r.right) / 2,
				event.clientY - (r.top + r.bottom) / 2);
			if (r.width > 0 && far < least) { least = far; best = mark; }
		}
		return best;
	}
	document.addEventListener('pointermove', event => {
		const mark = event.target.closest ? nearest(event) : null;
		if (mark !== now) read(mark);
	});

	// Keys: right and left go on, down and up to the next lock of a plot or row of a matrix.
	const groups = new Map();
	for (const box of all('.plot, .keys')) {
		const lines = all(box.matches('.plot') ? 'g.l' : 'tr, .columns', box);
		groups.set(box, lines.map(line => all('.pt', line)).filter(line => line.length));
		if (!box.matches('.plot')) continue;
		box.tabIndex = 0;
		box.setAttribute('role', 'group');
		box.setAttribute('aria-label', box.getAttribute('aria-label') + '; arrow keys read the values');
	}
	const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
	document.addEventListener('keydown', event => {
		if (event.key === 'Escape') { read(null); pick(null); }
		const box = event.target, lines = groups.get(box), step = steps[event.key];
		if (!lines || !lines.length || !step) return;
		event.preventDefault();
		let y = lines.findIndex(line => line.includes(now)), x = y < 0 ? 0 : lines[y].indexOf(now);
		if (y < 0) y = 0;
		else {
			y = Math.max(0, Math.min(lines.length - 1, y + step[0]));
			x = Math.max(0, Math.min(lines[y].length - 1, x + step[1]));
		}
		lines[y][x].scrollIntoView({ block: 'nearest', inline: 'nearest' });
		read(lines[y][x]);
	});
	document.addEventListener('focusout', () => read(null));

	// Locks to follow: all others stand back, or are hidden.
	const picked = new Set(), bar = get('picked'), only = get('only');
	function pick(lock) {
		if (lock === null) { picked.clear(); only.setAttribute('aria-pressed', 'false'); }
		else if (!picked.delete(lock)) picked.add(lock);
		document.body.classList.toggle('picking', picked.size > 0);
		document.body.classList.toggle('only', picked.size > 0 && only.getAttribute('aria-pressed') === 'true');
		for (const part of all('[data-lock]'))
			part.classList.toggle('off', picked.size > 0 && !picked.has(part.dataset.lock));
		for (const button of all('.pick'))
			button.setAttribute('aria-pressed', picked.has(button.parentNode.dataset.lock));
		bar.hidden = picked.size === 0;
		bar.firstChild.textContent = 'Following ' + [...picked].join(', ') + '.';
	}
	document.addEventListener('click', event => {
		const part = event.target.closest('[data-lock]');
		if (part && !part.matches('td')) pick(part.dataset.lock);
	});
	only.addEventListener('click', () => {
		only.setAttribute('aria-pressed', only.getAttribute('aria-pressed') !== 'true');
		document.body.classList.toggle('only', only.getAttribute('aria-pressed') === 'true');
	});
	get('clear').addEventListener('click', () => pick(null));

	// Light or dark: as the system says, until the button says otherwise.
	const theme = get('theme');
	const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark'
		: matchMedia('(prefers-color-scheme: dark)').matches;
	const label = () => { theme.textContent = isDark() ? 'Light' : 'Dark'; };
	theme.hidden = false;
	theme.addEventListener('click', () => { root.dataset.theme = isDark() ? 'light' : 'dark'; label(); });
	label();
})();
