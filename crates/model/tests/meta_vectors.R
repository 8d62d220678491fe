# Makes meta_vectors.json, the reference values for pooled effects, with R and metafor (Debian: r-cran-metafor):
#   R --no-echo --vanilla -f crates/model/tests/meta_vectors.R > crates/model/tests/meta_vectors.json
suppressMessages(library(metafor))
num <- function(x) ifelse(is.finite(x), sprintf("%.15g", x), "null")
arr <- function(x) paste0("[", paste(num(x), collapse=", "), "]")
field <- function(name, x) sprintf('"%s": %s', name, if (length(x) > 1) arr(x) else num(x))
fit <- function(yi, vi, method) {
  ctl <- if (method == "REML") list(threshold=1e-12, maxiter=10000) else list(tol=1e-14, maxiter=100000)
  plain <- rma(yi, vi, method=method, test="knha", control=ctl)
  guarded <- rma(yi, vi, method=method, test="adhoc", control=ctl)
  ci <- confint(plain, control=list(tol=1e-12, maxiter=100000))$random
  riley <- predict(guarded, pi.type="riley")
  b <- blup(guarded)
  c(field("tau2", plain$tau2), field("tau2_ci", ci[1,2:3]), field("mean", plain$b), field("knha_se", plain$se), field("knha_ci", c(plain$ci.lb, plain$ci.ub)),
    field("guarded_se", guarded$se), field("guarded_ci", c(guarded$ci.lb, guarded$ci.ub)), field("i2_pct", plain$I2), field("h2", plain$H2),
    field("prediction", c(riley$pi.lb, riley$pi.ub)), field("blup", b$pred), field("blup_se", b$se))
}
study <- function(name, source, yi, vi) {
  fe <- rma(yi, vi, method="FE")
  parts <- c(sprintf('"source": "%s"', source), field("values", yi), field("variances", vi),
    field("q", fe$QE), field("q_p", fe$QEp), field("fixed", fe$b), field("fixed_ci", c(fe$ci.lb, fe$ci.ub)))
  for (m in c("PM", "REML")) parts <- c(parts, sprintf('"%s": {\n    %s\n  }', m, paste(fit(yi, vi, m), collapse=",\n    ")))
  sprintf('"%s": {\n  %s\n }', name, paste(parts, collapse=",\n  "))
}
bcg <- escalc(measure="RR", ai=tpos, bi=tneg, ci=cpos, di=cneg, data=dat.bcg)
norm <- escalc(measure="MD", m1i=m1i, sd1i=sd1i, n1i=n1i, m2i=m2i, sd2i=sd2i, n2i=n2i, data=dat.normand1999)
hack <- dat.hackshaw1998
bang <- dat.bangertdrowns2004
raud <- dat.raudenbush1985
yus <- escalc(measure="OR", ai=ai, n1i=n1i, ci=ci, n2i=n2i, data=subset(dat.yusuf1985, table==6))
yus <- subset(yus, !is.na(yi)) # one study without deaths in either arm
grp <- rma(yi, vi, mods=~factor(alloc)-1, data=bcg, method="PM", test="adhoc", control=list(tol=1e-14,maxiter=100000))
cont <- rma(yi, vi, mods=~factor(alloc), data=bcg, method="PM", test="adhoc", control=list(tol=1e-14,maxiter=100000))
reml <- rma(yi, vi, mods=~factor(alloc)-1, data=bcg, method="REML", test="adhoc", control=list(threshold=1e-12,maxiter=10000))
ci <- confint(grp, control=list(tol=1e-12,maxiter=100000))$random
v <- vcov(grp)
pair <- function(i, j) { d <- grp$b[j]-grp$b[i]; s <- sqrt(v[i,i]+v[j,j]); c(d, s, 2*pt(-abs(d/s), grp$k-grp$p)) }
groups <- sprintf('"bcg_by_allocation": {\n  %s\n }', paste(c(
  sprintf('"source": "%s"', "dat.bcg, groups alternate, random, systematic; rma(mods = ~ factor(alloc), method = PM, test = adhoc)"),
  sprintf('"groups": [%s]', paste(sapply(levels(factor(bcg$alloc)), function(a) arr(which(bcg$alloc==a)-1)), collapse=", ")),
  field("tau2", grp$tau2), field("tau2_reml", reml$tau2), field("tau2_ci", ci[1,2:3]), field("means", grp$b), field("ses", grp$se), field("f", cont$QM), field("freedom", cont$QMdf), field("p", cont$QMp),
  field("first_to_second", pair(1,2)), field("first_to_third", pair(1,3))), collapse=",\n  "))
p95 <- c(0.0001,0.0004,0.0019,0.0095,0.0201,0.0278,0.0298,0.0344,0.0459,0.3240,0.4262,0.5719,0.6528,0.7590,1.000)
fdr <- sprintf('"false_discovery": {\n  %s\n }', paste(c('"source": "Benjamini and Hochberg 1995, section 4.1: thrombolysis in infarction, 15 hypotheses; p.adjust"',
  field("p", p95), field("bh", p.adjust(p95, "BH")), field("by", p.adjust(p95, "BY"))), collapse=",\n  "))
about <- sprintf('"_about": "made by %s with metafor %s; yi and vi as its documentation of the data sets has them; knha is the interval of Hartung and Knapp, adhoc the one with max(1, q), pi.type riley the prediction with t(k-2)"', R.version.string, packageVersion("metafor"))
cat("{\n ", paste(c(about,
 study("bcg", "Colditz et al. 1994, vaccine against tuberculosis, ln risk ratios; dat.bcg", bcg$yi, bcg$vi),
 study("normand", "Normand 1999, length of stay in hospital, differences of means in days; dat.normand1999", norm$yi, norm$vi),
 study("hackshaw", "Hackshaw 1998, lung cancer and passive smoking, ln odds ratios; dat.hackshaw1998", hack$yi, hack$vi),
 study("bangert_drowns", "Bangert-Drowns et al. 2004, writing to learn, standardised differences; dat.bangertdrowns2004", bang$yi, bang$vi),
 study("raudenbush", "Raudenbush and Bryk 1985, expectations of teachers, standardised differences; dat.raudenbush1985", raud$yi, raud$vi),
 study("yusuf", "Yusuf et al. 1985, beta blockers in infarction, table 6, ln odds ratios; dat.yusuf1985", yus$yi, yus$vi),
 groups, fdr), collapse=",\n "), "\n}\n", sep="")
