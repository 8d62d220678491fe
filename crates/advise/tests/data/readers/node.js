const flat = (v, p) => { for (const [k, w] of Object.entries(v)) typeof w === 'object' ? flat(w, p ? `${p}/${k}` : k) : console.log(`${p ? p + '/' : ''}${k}\t${w}`); };
for (const f of process.argv.slice(1)) { flat(require(f), ''); console.log('--'); }
